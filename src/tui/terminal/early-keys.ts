// Keys that are typed while the screen starts. The renderer reads the terminal before the screen listens for keys.

export type EarlyKeys = {
  /** Called by the renderer for each key and each answer of the terminal. True if the renderer must not handle it. */
  take: (sequence: string) => boolean;
  /** Sends the keys to the renderer once more, in their order. Later keys are not taken. */
  release: () => void;
};

export function createEarlyKeys(send: (text: string) => void): EarlyKeys {
  let keys: string[] | null = [];
  return {
    take(sequence) {
      // A sequence with ESC may be an answer of the terminal that the renderer waits for.
      if (keys === null || sequence.includes("\x1b")) return false;
      keys.push(sequence);
      return true;
    },
    release() {
      const text = (keys ?? []).join("");
      keys = null;
      if (text !== "") send(text);
    },
  };
}
