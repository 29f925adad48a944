// One text that is sent in pieces. Pieces may be lost on the way here; a later copy of the whole text then fills the gap.

export class StreamedText {
  #sent = "";
  #isPaused = false;

  get hasSent(): boolean {
    return this.#sent !== "";
  }

  /** Holds back further pieces, because one was lost. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Returns the piece to send. */
  append(piece: string): string {
    if (this.#isPaused) return "";
    this.#sent += piece;
    return piece;
  }

  /** Returns what is missing of the text so far. */
  catchUp(text: string): string {
    if (!text.startsWith(this.#sent)) return "";
    const rest = text.slice(this.#sent.length);
    this.#sent = text;
    this.#isPaused = false;
    return rest;
  }

  /** Returns what is missing of the stored text. `isOther`: the stored text differs from the sent one, so all of it is sent. */
  complete(text: string): { rest: string; isOther: boolean } {
    if (text.startsWith(this.#sent)) return { rest: text.slice(this.#sent.length), isOther: false };
    if (text.trim() === this.#sent.trim() || text === "") return { rest: "", isOther: false };
    return { rest: text, isOther: true };
  }
}
