import { expect, test } from "bun:test";
import type { Node } from "../../protocol/tree/node.ts";
import type { Transcript } from "../../store/transcript.ts";
import { TurnTranscript } from "./transcripts.ts";

test("a failed write is reported once, and the next write adds the missing nodes in their order", () => {
  const written: string[] = [];
  let isFull = true;
  const append = (node: Node): void => {
    if (isFull) throw new Error("no space");
    written.push(node.id);
  };
  const problems: string[] = [];
  const transcript = new TurnTranscript({ append } as Transcript, (message) => problems.push(message));
  for (const id of ["a", "b"]) transcript.append({ id } as Node);
  expect([written, problems]).toEqual([[], ["the transcript could not be written: no space"]]);
  isFull = false;
  transcript.append({ id: "c" } as Node);
  expect(written).toEqual(["a", "b", "c"]);
});
