// Every row of the Api by its name on the wire, and whether it answers once or keeps telling. What the hub serves and
// its client mirrors; a row that is missing here is a type error.
import type { Api } from "./api.ts";

type Nouns = Omit<Api, "close">;
export type RowName = { [Noun in keyof Nouns]: `${Noun}.${Extract<keyof Nouns[Noun], string>}` }[keyof Nouns];
type KindOf<Name extends RowName> = Name extends `${infer Noun extends keyof Nouns}.${infer Verb}`
  ? Verb extends keyof Nouns[Noun]
    ? Nouns[Noun][Verb] extends (...params: never[]) => AsyncIterable<unknown>
      ? "feed"
      : "call"
    : never
  : never;

export const apiRows: { readonly [Name in RowName]: KindOf<Name> } = {
  "session.open": "call",
  "session.list": "call",
  "session.tree": "call",
  "session.show": "call",
  "session.leaves": "call",
  "session.find": "call",
  "session.fork": "call",
  "session.move": "call",
  "session.rename": "call",
  "session.archive": "call",
  "session.restore": "call",
  "session.purge": "call",
  "session.current": "call",
  "session.use": "call",
  "session.describe": "call",
  "node.find": "call",
  "node.path": "call",
  "node.children": "call",
  "node.add": "call",
  "node.addSession": "call",
  "graft.make": "call",
  "files.list": "call",
  "files.diff": "call",
  "files.planRestore": "call",
  "files.restore": "call",
  "plan.read": "call",
  "plan.make": "call",
  "context.render": "call",
  "context.handles": "call",
  "turn.check": "call",
  "turn.start": "feed",
  "turn.watch": "feed",
  "turn.list": "call",
  "turn.steer": "call",
  "turn.takeBack": "call",
  "turn.pause": "call",
  "turn.resume": "call",
  "turn.cancel": "call",
  "turn.kill": "call",
  "ask.list": "call",
  "ask.answer": "call",
  "bash.execute": "feed",
  "transcript.import": "call",
  "search.find": "call",
  "history.search": "call",
  "branch.compare": "call",
  "handle.resolve": "call",
  "tokens.count": "call",
  "usage.report": "call",
  "store.verify": "call",
  "agents.list": "call",
  "models.list": "call",
  "auth.status": "call",
  "skills.list": "call",
  "roles.list": "call",
  "roles.find": "call",
  "config.show": "call",
  "config.values": "call",
  "config.set": "call",
  "config.paths": "call",
  "config.schema": "call",
  "trust.show": "call",
  "trust.grant": "call",
  "trust.revoke": "call",
  "doctor.check": "call",
  "doctor.tryAgents": "call",
  "health.check": "call",
};
