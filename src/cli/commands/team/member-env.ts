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

export type MemberEnv = ReturnType<typeof readMemberEnv>;

/** The paths and ids that a member's processes have in their environment. The `MAOS_*` names are for scripts that already use them. */
export function readMemberEnv({ env }: CommandContext, command: string) {
  const value = (name: string): string | null => env[`SKEIN_${name}`] || env[`MAOS_${name}`] || null;
  const [agent, messageDir, sharedDir] = [value("AGENT_ID"), value("MESSAGE_DIR"), value("SHARED_CONTEXT")];
  if (agent === null || messageDir === null || sharedDir === null || !/^\w[\w.-]*$/.test(agent))
    throw new Fault("usage", `skein ${command} works only inside a team, and this process is not a member`, {
      hint: "a member has SKEIN_AGENT_ID, SKEIN_MESSAGE_DIR and SKEIN_SHARED_CONTEXT",
    });
  return {
    agent,
    team: env["SKEIN_TEAM_ID"] || env["MAOS_SESSION_ID"] || "",
    outbox: join(messageDir, "outbox"),
    inbox: join(messageDir, "inbox", agent),
    messageDir,
    sharedDir,
    workspace: value("WORKSPACE"),
  };
}

/** Writes a message or report to the outbox and returns its id. Throws if the team would refuse it. */
export function postMail(member: MemberEnv, value: Record<string, unknown>, ctx: CommandContext): string {
  const mail = parseMailValue(value);
  if (mail.type === "refused") throw new Fault("usage", `can't send this: ${mail.reason}`);
  for (const warning of mail.warnings) ctx.err.write(warningText(warning));
  if (mail.type === "message") checkAddressees(member, mail.message.to);
  if (isClosed(member)) throw new Fault("usage", `can't send this: ${quotaExceededText}`);
  const id = newDropId();
  try {
    dropFile(member.outbox, id, JSON.stringify(value));
  } catch (error) {
    throw new Fault("file-unwritable", `can't write to ${member.outbox}: ${messageOf(error)}`, { cause: error });
  }
  return id;
}

/** True if the team refuses more mail in this turn. Lists the directory instead of looking up the name: some mounts cache a failed lookup. */
function isClosed({ messageDir }: MemberEnv): boolean {
  try {
    return readdirSync(messageDir).includes(closedFileName);
  } catch {
    return false;
  }
}

/** Throws if an address matches no other member. Checks nothing without a readable roster; the team checks again when it delivers. */
function checkAddressees(member: MemberEnv, to: readonly string[]): void {
  const members = readRoster(member)?.members ?? [];
  const unknown = to.find((address) => resolveAddress(address, members).every((id) => id === member.agent));
  if (members.length === 0 || unknown === undefined) return;
  const others = members.filter(({ id }) => id !== member.agent).map(({ key }) => key);
  throw new Fault("usage", `no other member of the team has the address "${unknown}"`, {
    hint: `possible recipients: ${[...others, "person"].join(", ")}`,
  });
}

/** The absolute path of a file that other members can read. Throws if they can't. */
export function sharedPath(path: string, member: MemberEnv, ctx: CommandContext): string {
  const absolute = absolutePath(path, { cwd: ctx.cwd, home: ctx.home });
  const resolved = resolveContained(absolute, [member.sharedDir, ...(member.workspace === null ? [] : [member.workspace])]);
  if ("path" in resolved) return resolved.path;
  if (resolved.problem === "missing") throw new Fault("usage", `${absolute} does not exist`);
  throw new Fault("usage", `${absolute} can't be read by other members`, {
    hint: `put it into ${member.sharedDir}${member.workspace === null ? "" : ` or ${member.workspace}`}`,
  });
}

/** Messages for this member, the oldest first. */
export function readInbox({ inbox }: MemberEnv): { name: string; sent: SentMessage }[] {
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
export function readRoster({ sharedDir }: MemberEnv): RosterFile | null {
  try {
    const { members } = JSON.parse(readFileSync(join(sharedDir, "team.json"), "utf8")) as RosterFile;
    return { members: members.map((entry) => ({ ...entry, key: entry.key ?? entry.id, role: entry.role ?? "" })) };
  } catch {
    return null;
  }
}
