// The page's worker: loads the module once, then answers one message after the other. The page stops it by ending it.

import { open } from "./ladder.mjs";

let ladder = null;

async function get(address) {
  const response = await fetch(new URL(address, import.meta.url));
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  return response;
}

// The module lies there compressed, so that a host need not know how to compress. A host that takes it for a compressed answer
// has the browser unpack it: what begins with gzip's two bytes is still packed.
async function load() {
  const bytes = new Uint8Array(await (await get("page.wasm.gz")).arrayBuffer());
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return open(bytes);
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return open(await new Response(unpacked).arrayBuffer());
}

onmessage = async ({ data }) => {
  const { id, request, file, change } = data;
  try {
    ladder ??= await load();
    if (request === undefined) return postMessage({ id, answer: ladder.levels() });
    if (file !== undefined) request.ptx = await (await get(file)).text();
    if (change !== undefined) request.change = await (await get(change)).text();
    const began = performance.now();
    const answer = ladder.multiply(request);
    postMessage({ id, answer, seconds: (performance.now() - began) / 1000, change: request.change });
  } catch (error) {
    postMessage({ id, failed: String(error.message ?? error) });
  }
};
