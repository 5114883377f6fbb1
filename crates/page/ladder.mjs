// The ladder in a page, or in Node: `const ladder = await open(bytes)`, with the bytes of page.wasm.
//
//   ladder.levels()           what there is: an array
//   ladder.multiply(request)  an object with `report`, `text`, `note`, `annotated` and `bits`, or one with `error`
//   ladder.answer(text)       the same from text to text, both JSON; of no text, the levels
//
// What a request may hold, and an answer holds, crates/page/src/request.rs and crates/page/src/answer.rs say. A call takes as long as the
// emulator does: in a page it belongs into a worker.

/** Compiles a module; it calls nothing of its surroundings. */
export async function open(bytes) {
  const module = await WebAssembly.compile(bytes);
  let exports = null;

  // Where it has stopped with an error of its own, its memory is no more to be trusted: the next call gets a fresh one.
  function call(work) {
    exports ??= new WebAssembly.Instance(module, {}).exports;
    try {
      const length = work(exports);
      const text = new Uint8Array(exports.memory.buffer, exports.ladder_answer(), length);
      return new TextDecoder().decode(text);
    } catch (error) {
      exports = null;
      throw error;
    }
  }

  const levels = () => call((exports) => exports.ladder_levels());
  const multiply = (request) =>
    call((exports) => {
      const text = new TextEncoder().encode(request);
      const address = exports.ladder_room(text.length);
      new Uint8Array(exports.memory.buffer, address, text.length).set(text);
      return exports.ladder_multiply();
    });
  return {
    levels: () => JSON.parse(levels()),
    multiply: (request) => JSON.parse(multiply(JSON.stringify(request))),
    answer: (text) => (text.trim() === "" ? levels() : multiply(text)),
  };
}
