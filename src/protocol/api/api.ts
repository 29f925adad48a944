// The Api: the one object that front ends use. The engine implements it, the hub serves it, and the hub's client mirrors it.
// So a front end is the same for an Api in its own process and for one in the hub. The type is inferred from the method table
// in src/protocol/schema/methods. Only types are imported from there: the table needs zod, which must not load at start.
import type { OutputOf } from "../schema/fields.ts";
import type { Methods } from "../schema/methods/index.ts";
import type { IndexProgress } from "../transcripts/agent-transcript.ts";
import type { TrialProgress } from "./agents.ts";
import type { OutputListener } from "./ports.ts";
import type { TurnOptions } from "./turn-options.ts";

export type * from "../schema/results.ts";
export type * from "../schema/setup.ts";

/** `noun.verb`. In JSON the verb is snake_case. */
export type MethodName = keyof Methods;

/** Callbacks and signals can't be sent to another process. */
type LocalParams = {
  "session.describe": { signal?: AbortSignal };
  /** Gets the whole output of `command`. A pending promise makes the command wait. Events carry only excerpts. */
  "turn.start": { onOutput?: OutputListener };
  "store.verify": { onProgress?: (checked: number) => void };
  "transcript.list": { onProgress?: (progress: IndexProgress) => void };
  "transcript.search": { onProgress?: (progress: IndexProgress) => void };
  "doctor.tryAgents": { onProgress?: (progress: TrialProgress) => void; signal?: AbortSignal };
};

/** Turn options have their own table, src/protocol/api/turn-options.ts. */
type TurnParams = { "turn.start": TurnStartParams; "turn.queue": TurnStartParams; "turn.check": TurnCheckParams };

/** The params of a method that can be sent to another process. */
export type MethodParams<Name extends MethodName> = Name extends keyof TurnParams ? TurnParams[Name] : OutputOf<Methods[Name]["params"]>;
export type MethodResult<Name extends MethodName> = OutputOf<Methods[Name]["result"]>;
export type FeedName = { [Name in MethodName]: Methods[Name] extends { feed: true } ? Name : never }[MethodName];

type ParamsInProcess<Name extends MethodName> = (HasParams<Name> extends true ? MethodParams<Name> : unknown) &
  (Name extends keyof LocalParams ? LocalParams[Name] : unknown);
type HasParams<Name extends MethodName> = string extends keyof MethodParams<Name> ? false : true;
type Answer<Name extends MethodName> = Name extends FeedName ? AsyncIterable<MethodResult<Name>> : Promise<MethodResult<Name>>;
type MethodFunction<Name extends MethodName> =
  unknown extends ParamsInProcess<Name> ? () => Answer<Name> : (params: ParamsInProcess<Name>) => Answer<Name>;

type Noun = MethodName extends `${infer Name}.${string}` ? Name : never;
type MethodsOf<N extends Noun> = {
  [Name in Extract<MethodName, `${N}.${string}`> as Name extends `${N}.${infer Verb}` ? Verb : never]: MethodFunction<Name>;
};

export type Api = { [N in Noun]: MethodsOf<N> } & {
  /** `finish` waits for the turns of this process; `stop` stops them and records their end. */
  close: (how?: "stop" | "finish") => Promise<void>;
};

/** The methods that answer with a stream of events. */
export const feedNames: { readonly [Name in FeedName]: true } = {
  "turn.start": true,
  "turn.startPending": true,
  "turn.watch": true,
  "bash.execute": true,
};

export function isFeed(method: MethodName): method is FeedName {
  return Object.hasOwn(feedNames, method);
}

export type SessionOpenParams = MethodParams<"session.open">;
export type TranscriptImportParams = MethodParams<"transcript.import">;
export type UsageKey = MethodParams<"usage.report">["by"];
export type UsageSeriesParams = MethodParams<"usage.series">;
export type CountTokensParams = MethodParams<"tokens.count">;
export type TryAgentsParams = LocalParams["doctor.tryAgents"];

export type TurnStartParams = TurnOptions & {
  session: string;
  /** Null continues an interrupted turn. */
  prompt: string | null;
};

export type TurnCheckParams = Omit<TurnOptions, "agent"> & {
  agent: string;
  /** False for an existing session: it has a model if the turn names none. */
  isNew: boolean;
  directory: string;
};
