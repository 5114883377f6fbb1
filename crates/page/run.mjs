// Requests from stdin, one a line, and their answers to stdout: `node crates/page/run.mjs target/page/page.wasm`.
// An empty line asks which levels there are. How long each took goes to stderr.

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";

import { open } from "./ladder.mjs";

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error("error: no module is named\nhint: node crates/page/run.mjs target/page/page.wasm");
  process.exit(2);
}
const ladder = await open(await readFile(file));
for await (const line of createInterface({ input: process.stdin })) {
  const began = performance.now();
  const answer = ladder.answer(line);
  console.error(`note: ${(performance.now() - began).toFixed(0)} ms in Node`);
  console.log(answer);
}
