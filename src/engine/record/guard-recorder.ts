// Compares the protected files of a project before and after each turn. Findings are stored as a note and shown as
// a warning.
import { messageOf } from "../../protocol/api/error.ts";
import type { GuardedTurn, ProjectGuards } from "../../protocol/api/ports.ts";
import type { Recorder } from "./recorder.ts";

export type GuardRecorder = {
  /** Reads the files before the turn, once. Never rejects. */
  begin: () => Promise<void>;
  /** Does nothing if the turn could not change a file. */
  finish: () => Promise<void>;
};

export function createGuardRecorder(guards: ProjectGuards, recorder: Recorder, turn: GuardedTurn): GuardRecorder {
  let started: Promise<(() => Promise<string[]>) | null> | null = null;
  const warn = (message: string) => recorder.publishTransient({ type: "warning.raised", message });
  const begin = async (): Promise<(() => Promise<string[]>) | null> => {
    try {
      return await guards.begin(turn);
    } catch (error) {
      warn(`the project's git settings are not compared: ${messageOf(error)}`);
      return null;
    }
  };
  return {
    async begin() {
      started ??= begin();
      await started;
    },
    async finish() {
      const compare = await started;
      const messages = await compare?.().catch((error: unknown) => {
        warn(`the project's git settings could not be compared: ${messageOf(error)}`);
        return [];
      });
      for (const message of messages ?? []) {
        await recorder.addNode({ author: "note", note: { about: "warning" }, parts: [{ kind: "text", text: message }] });
        warn(message);
      }
    },
  };
}
