// Handles a line typed while attached: a slash command, an answer to the open question, or a message to the agent.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import type { Api } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";

export type AttachedSession = {
  api: Pick<Api, "turn" | "ask">;
  session: string;
  /** Returns the id of the oldest open question; null if there is none. */
  ask: () => string | null;
  leave: () => void;
};

type AttachCommand = {
  name: string;
  summary: string;
  /** Resolves with a text to print, or null if an event will show the effect. */
  act: (attached: AttachedSession) => Promise<string | null>;
};

export const attachCommands: readonly AttachCommand[] = [
  {
    name: "cancel",
    summary: "stop the turn and every process it started",
    act: async ({ api, session }) => {
      await api.turn.cancel({ session });
      return "stopping the turn…";
    },
  },
  {
    name: "pause",
    summary: "pause the turn",
    act: async ({ api, session }) => stateText(await api.turn.pause({ session, force: false })),
  },
  { name: "resume", summary: "resume the turn", act: async ({ api, session }) => stateText(await api.turn.resume({ session })) },
  { name: "quit", summary: "leave, like Ctrl-C; the turn continues", act: async ({ leave }) => (leave(), null) },
  {
    name: "help",
    summary: "show this list",
    act: async () => attachCommands.map(({ name, summary }) => `/${name} ${summary}`).join("\n  "),
  },
];

/** Resolves like `act` of a command. */
export async function handleTypedLine(attached: AttachedSession, typed: string): Promise<string | null> {
  const text = typed.trim();
  if (/^\/[a-z?]+$/.test(text)) return findAttachCommand(text.slice(1)).act(attached);
  const ask = attached.ask();
  if (ask === null) await attached.api.turn.steer({ session: attached.session, text });
  else await attached.api.ask.answer({ ask, text });
  return null;
}

function findAttachCommand(name: string): AttachCommand {
  const command = attachCommands.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const names = attachCommands.map((candidate) => candidate.name);
  const nearest = nearestWord(name, names);
  throw new Fault("usage", `no command /${name}`, {
    hint: nearest === null ? names.map((candidate) => `/${candidate}`).join(" ") : `did you mean /${nearest}?`,
  });
}

/** The event of a paused or resumed turn is printed anyway, so only "not running" needs a text. */
function stateText({ state }: { state: string }): string | null {
  return state === "not-running" ? "nothing is running in this session" : null;
}
