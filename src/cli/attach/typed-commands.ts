// What a typed line means to whoever is attached: a message to the agent, an answer to its question, or a command.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import type { Api } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";

export type AttachedSession = {
  api: Pick<Api, "turn" | "ask">;
  session: string;
  /** The question that waits, if one does. */
  ask: string | null;
  leave: () => void;
};

type AttachCommand = { name: string; summary: string; act: (talk: AttachedSession) => Promise<string | null> | string | null };

export const attachCommands: readonly AttachCommand[] = [
  { name: "cancel", summary: "stop the turn, with all it has started", act: cancel },
  {
    name: "pause",
    summary: "let it stand still",
    act: async ({ api, session }) => stateText(await api.turn.pause({ session, force: false })),
  },
  { name: "resume", summary: "let it go on", act: async ({ api, session }) => stateText(await api.turn.resume({ session })) },
  { name: "quit", summary: "leave, as Ctrl-C does; the turn runs on", act: quit },
  { name: "help", summary: "this list", act: () => attachCommands.map(({ name, summary }) => `/${name} ${summary}`).join("\n  ") },
];

/** Gives back what is to be told of it, unless an event will tell. */
export async function handleTypedLine(talk: AttachedSession, typed: string): Promise<string | null> {
  const text = typed.trim();
  if (/^\/[a-z?]+$/.test(text)) return commandNamed(text.slice(1)).act(talk);
  if (talk.ask === null) await talk.api.turn.steer({ session: talk.session, text });
  else await talk.api.ask.answer({ ask: talk.ask, text });
  return null;
}

function commandNamed(name: string): AttachCommand {
  const command = attachCommands.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const names = attachCommands.map((each) => each.name);
  const near = nearestWord(name, names);
  throw new Fault("usage", `no command /${name}`, {
    hint: near === null ? names.map((each) => `/${each}`).join(" ") : `did you mean /${near}?`,
  });
}

async function cancel({ api, session }: AttachedSession): Promise<string> {
  await api.turn.cancel({ session });
  return "stopping the turn…";
}

function quit({ leave }: AttachedSession): null {
  leave();
  return null;
}

/** A turn that stands still or goes on says so itself. */
function stateText({ state }: { state: string }): string | null {
  return state === "not-running" ? "nothing runs in this session" : null;
}
