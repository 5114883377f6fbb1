// The page's worker: loads the module once, then answers one message after the other. The page stops it by ending it.

import { open } from "./ladder.mjs";

let ladder = null;

async function get(address) {
  const response = await fetch(new URL(address, import.meta.url));
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  return response;
}

// The module lies there compressed, so that a host need not know how to compress.
async function load() {
  const { body } = await get("live.wasm.gz");
  return open(await new Response(body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
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
