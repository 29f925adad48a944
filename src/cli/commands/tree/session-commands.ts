// The small verbs on one session: use, rename, delete, restore. Each says what it did in one line.
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { sessionRecord } from "../../../protocol/json/records.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls } from "../../terminal/style.ts";

type Done = { record: unknown; text: string };
type Verb = {
  name: string;
  summary: string;
  words: string[];
  notes?: string;
  act: (api: Api, session: Session, args: Args, ctx: CommandContext) => Promise<Done>;
};

const labelOf = (session: Session) => stripControls(session.name ?? shortId(session.id));

export const use = verb({
  name: "use",
  summary: "make a session the one that --continue means here",
  words: ["session"],
  async act(api, session, _args, door) {
    await api.session.use({ session: session.id, directory: door.cwd });
    return { record: sessionRecord(session), text: `using ${labelOf(session)}` };
  },
});

export const rename = verb({
  name: "rename",
  summary: "give a session another name",
  words: ["session", "name"],
  async act(api, session, args) {
    const renamed = await api.session.rename({ session: session.id, name: args.positionals[1] as string });
    return { record: sessionRecord(renamed), text: `${labelOf(session)} is now ${labelOf(renamed)}` };
  },
});

export const remove = verb({
  name: "delete",
  summary: "archive a session; its nodes stay while anything reaches them",
  words: ["session"],
  async act(api, session) {
    const archived = await api.session.archive({ session: session.id });
    return { record: sessionRecord(archived), text: `archived ${labelOf(session)}; skein restore ${shortId(session.id)} brings it back` };
  },
});

export const restore = verb({
  name: "restore",
  summary: "bring an archived session back",
  words: ["session"],
  async act(api, session) {
    if (session.archivedAt === null) throw new Fault("usage", `${labelOf(session)} is not archived`);
    const restored = await api.session.restore({ session: session.id });
    return { record: sessionRecord(restored), text: `restored ${labelOf(restored)}` };
  },
});

function verb(row: Verb): Command {
  return {
    name: row.name,
    summary: row.summary,
    usage: `${row.words.map((word) => `<${word}>`).join(" ")} [--json]`,
    positionals: { min: row.words.length, max: row.words.length },
    flags: [jsonFlag],
    ...(row.notes === undefined ? {} : { notes: row.notes }),
    async run(args, door) {
      const api = await door.api();
      const session = await findSession(api, door, args.positionals[0]);
      const done = await row.act(api, session, args, door);
      door.out.write(args.flags["json"] ? jsonText(done.record) : `${done.text}\n`);
      return 0;
    },
  };
}
