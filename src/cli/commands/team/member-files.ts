// Reads and writes a team member's mail from inside the member's own processes. Uses only files,
// so that it works in every sandbox.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { dropFile, newDropId } from "../../../kit/files/drop-file.ts";
import { resolveContained } from "../../../kit/files/contained-path.ts";
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { parseMailValue, parseSentMessage } from "../../../protocol/team/read-mail.ts";
import { resolveAddress } from "../../../protocol/team/address.ts";
import { quotaExceededText, closedFileName, type SentMessage, type RosterFile } from "../../../protocol/team/mail.ts";
import type { CommandContext } from "../../parse/command.ts";
import { warningText } from "../../print/print-fault.ts";

export type MemberFiles = ReturnType<typeof memberFiles>;

/** The paths and ids that a member's processes have in their environment. */
export function memberFiles({ env }: CommandContext, command: string) {
  const value = (name: string): string | null => env[`SKEIN_${name}`] || env[`MAOS_${name}`] || null;
  const [agent, messages, shared] = [value("AGENT_ID"), value("MESSAGE_DIR"), value("SHARED_CONTEXT")];
  if (agent === null || messages === null || shared === null || !/^\w[\w.-]*$/.test(agent))
    throw new Fault("usage", `skein ${command} works only inside a team, and this process is not a member`, {
      hint: "a member has SKEIN_AGENT_ID, SKEIN_MESSAGE_DIR and SKEIN_SHARED_CONTEXT",
    });
  return {
    agent,
    team: env["SKEIN_TEAM_ID"] || env["MAOS_SESSION_ID"] || "",
    outbox: join(messages, "outbox"),
    inbox: join(messages, "inbox", agent),
    messages,
    shared,
    workspace: value("WORKSPACE"),
  };
}

/** Writes a message or report to the outbox and returns its id. Throws if the team would refuse it. */
export function postMail(files: MemberFiles, value: Record<string, unknown>, ctx: CommandContext): string {
  const mail = parseMailValue(value);
  if (mail.type === "refused") throw new Fault("usage", `can't send this: ${mail.reason}`);
  for (const warning of mail.warnings) ctx.err.write(warningText(warning));
  if (mail.type === "message") checkAddressees(files, mail.message.to);
  if (isClosed(files)) throw new Fault("usage", `can't send this: ${quotaExceededText}`);
  const id = newDropId();
  try {
    dropFile(files.outbox, id, JSON.stringify(value));
  } catch (error) {
    throw new Fault("file-unwritable", `can't write to ${files.outbox}: ${messageOf(error)}`, { cause: error });
  }
  return id;
}

/** Lists the directory instead of looking up the name: some mounts cache a failed lookup. */
function isClosed({ messages }: MemberFiles): boolean {
  try {
    return readdirSync(messages).includes(closedFileName);
  } catch {
    return false;
  }
}

/** Without a readable roster nothing is checked here; the team checks the address when it delivers. */
function checkAddressees(files: MemberFiles, to: readonly string[]): void {
  const members = readRoster(files)?.members ?? [];
  const unknown = to.find((address) => resolveAddress(address, members).every((id) => id === files.agent));
  if (members.length === 0 || unknown === undefined) return;
  const others = members.filter(({ id }) => id !== files.agent).map(({ key }) => key);
  throw new Fault("usage", `no member of the team is addressed by "${unknown}"`, {
    hint: `possible recipients: ${[...others, "person"].join(", ")}`,
  });
}

/** The absolute path of a file that other members can read. Throws if they can't. */
export function sharedPath(path: string, files: MemberFiles, ctx: CommandContext): string {
  const absolute = absolutePath(path, { cwd: ctx.cwd, home: ctx.home });
  const resolved = resolveContained(absolute, [files.shared, ...(files.workspace === null ? [] : [files.workspace])]);
  if ("path" in resolved) return resolved.path;
  if (resolved.problem === "missing") throw new Fault("usage", `${absolute} does not exist`);
  throw new Fault("usage", `${absolute} can't be read by other members`, {
    hint: `put it into ${files.shared}${files.workspace === null ? "" : ` or ${files.workspace}`}`,
  });
}

/** Messages for this member, the oldest first. */
export function readInbox({ inbox }: MemberFiles): { name: string; sent: SentMessage }[] {
  try {
    const names = readdirSync(inbox).filter((name) => /^\d.*\.json$/.test(name));
    return names.toSorted().flatMap((name) => {
      const sent = parseSentMessage(JSON.parse(readFileSync(join(inbox, name), "utf8")));
      return sent === null ? [] : [{ name, sent }];
    });
  } catch (error) {
    throw new Fault("file-unreadable", `can't read ${inbox}: ${messageOf(error)}`, { cause: error });
  }
}

/** Null if the file can't be read or parsed: any member can write to it. */
export function readRoster({ shared }: MemberFiles): RosterFile | null {
  try {
    const { members } = JSON.parse(readFileSync(join(shared, "team.json"), "utf8")) as RosterFile;
    return { members: members.map((member) => ({ ...member, key: member.key ?? member.id, role: member.role ?? "" })) };
  } catch {
    return null;
  }
}
