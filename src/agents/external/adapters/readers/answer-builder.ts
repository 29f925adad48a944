// Collects the parts of the answer that a CLI prints piece by piece.
import type { Part } from "../../../../protocol/tree/node.ts";
import type { Usage } from "../../../../protocol/tree/usage.ts";
import type { CliEvent } from "../adapter.ts";

export class AnswerBuilder {
  #parts: Part[] = [];

  add(...parts: Part[]): void {
    this.#parts.push(...parts);
  }

  /** Adds a whole part and returns its delta. An empty text adds nothing. */
  addText(kind: "text" | "thinking", text: string): CliEvent[] {
    if (text === "") return [];
    this.#parts.push({ kind, text });
    return [{ type: `${kind}.delta`, text }];
  }

  /** Appends to the last part if it is of the same kind, else adds a part. Returns the delta. */
  appendText(kind: "text" | "thinking", text: string): CliEvent[] {
    const last = this.#parts.at(-1);
    if (last?.kind !== kind) return this.addText(kind, text);
    last.text += text;
    return [{ type: `${kind}.delta`, text }];
  }

  hasCalls(): boolean {
    return this.#parts.some((part) => part.kind === "call");
  }

  /** Returns the parts as one answer, and starts the next. Without parts there is no answer. */
  flush(about: { usage?: Usage; model?: string } = {}): CliEvent[] {
    const parts = this.#parts;
    this.#parts = [];
    return parts.length === 0 ? [] : [{ type: "answer", parts, ...about }];
  }
}
