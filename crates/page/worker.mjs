// The page's worker: loads the module once, then answers one message after the other. The page stops it by ending it.

import { open } from "./ladder.mjs";

let ladder = null;

async function get(address) {
  const response = await fetch(new URL(address, import.meta.url));
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  return response;
}

// What is large lies there compressed, so that a host need not know how to compress. A host that takes it for a compressed answer
// has the browser unpack it: what begins with gzip's two bytes is still packed.
async function unpacked(address) {
  const bytes = new Uint8Array(await (await get(address)).arrayBuffer());
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// The switches of lessons, as far as they were asked for; nothing, where a lesson has none.
const lessons = new Map();
async function switchesOf(lesson) {
  const read = async () => JSON.parse(new TextDecoder().decode(await unpacked(`switches/level${lesson}.json.gz`)));
  if (!lessons.has(lesson)) lessons.set(lesson, await read().catch(() => null));
  return lessons.get(lesson);
}

// What a switch makes of a request: the kernel's PTX after the edits, from the last one to the first, and its line after the change.
function turn(request, { ptx, switches }, index) {
  const lines = ptx.split("\n");
  const { line, was, now, edits } = switches[index] ?? { edits: [] };
  for (const [at, gone, come] of edits.toReversed()) lines.splice(at, gone, ...(come === "" ? [] : come.split("\n")));
  request.ptx = lines.join("\n");
  if (line !== undefined) request.change = `@@ -${line},1 +${line},1 @@\n-${was}\n+${now}\n`;
}

onmessage = async ({ data }) => {
  const { id, request, file, change, turned } = data;
  try {
    ladder ??= await open(await unpacked("page.wasm.gz"));
    const own = turned && (await switchesOf(turned.lesson));
    if (turned && request === undefined) {
      const rows = own?.switches.map(({ edits, ...row }) => row);
      return postMessage({ id, switches: own && { dtype: own.dtype, tiles: own.tiles, rows } });
    }
    if (request === undefined) return postMessage({ id, answer: ladder.levels() });
    if (file !== undefined) request.ptx = await (await get(file)).text();
    if (change !== undefined) request.change = await (await get(change)).text();
    if (turned) turn(request, own, turned.index);
    const began = performance.now();
    const answer = ladder.multiply(request);
    postMessage({ id, answer, seconds: (performance.now() - began) / 1000, change: request.change });
  } catch (error) {
    postMessage({ id, failed: String(error.message ?? error) });
  }
};
