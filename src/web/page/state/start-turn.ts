// Starts a turn and waits until it is recorded, so that an error before that is shown beside the message.
import type { Api, TurnStartParams } from "../../../protocol/api/api.ts";

/** A message with the choices of the composer. A choice that is null is left to the session and the configuration. */
export type Message = {
  text: string;
  agent: string | null;
  model: string | null;
  policy: string | null;
  images: { mime: string; base64: string }[];
};

export function startTurn(api: Api, session: string, message: Message): Promise<void> {
  return untilStarted(api, turnParams(session, message));
}

/** Continues an interrupted turn. */
export function continueTurn(api: Api, session: string): Promise<void> {
  return untilStarted(api, { session, prompt: null, asks: { how: "wait", limitMs: null } } as unknown as TurnStartParams);
}

async function untilStarted(api: Api, params: TurnStartParams): Promise<void> {
  const feed = api.turn.start(params)[Symbol.asyncIterator]();
  for (let item = await feed.next(); !item.done; item = await feed.next()) if (item.value.type === "turn.started") break;
  // The turn runs to its end without this reader.
  await feed.return?.();
}

/** The hub fills in every option that is left out. */
export function turnParams(session: string, { text, agent, model, policy, images }: Message): TurnStartParams {
  const params = {
    session,
    prompt: text,
    ...(agent === null ? {} : { agent }),
    ...(model === null ? {} : { model }),
    ...(policy === null ? {} : { policy: { name: policy } }),
    ...(images.length === 0 ? {} : { images }),
    // A page has time: its questions wait for an answer.
    asks: { how: "wait", limitMs: null },
  };
  return params as unknown as TurnStartParams;
}
