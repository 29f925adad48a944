// A member of a team as its own processes see it: where it leaves mail and finds some, who else there is. Only files, so
// that it works behind any walls.
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

export type MemberFiles = {
  agent: string;
  team: string;
  outbox: string;
  inbox: string;
  messages: string;
  shared: string;
  workspace: string | null;
};

export function memberFiles({ env }: CommandContext, command: string): MemberFiles {
  const value = (name: string): string | null => env[`SKEIN_${name}`] || env[`MAOS_${name}`] || null;
  const [agent, messages, shared] = [value("AGENT_ID"), value("MESSAGE_DIR"), value("SHARED_CONTEXT")];
  if (agent === null || messages === null || shared === null || !/^\w[\w.-]*$/.test(agent))
    throw new Fault("usage", `skein ${command} works inside a team, and this process is none of its members`, {
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

/** Leaves it in the outbox, and returns its id. What would be refused there is refused here. */
export function postMail(place: MemberFiles, value: Record<string, unknown>, ctx: CommandContext): string {
  const read = parseMailValue(value);
  if (read.type === "refused") throw new Fault("usage", `it can't be sent: ${read.reason}`);
  for (const warning of read.warnings) ctx.err.write(warningText(warning));
  if (read.type === "message") checkAddressees(place, read.message.to);
  if (isShut(place)) throw new Fault("usage", `it can't be sent: ${quotaExceededText}`);
  const id = newDropId();
  try {
    dropFile(place.outbox, id, JSON.stringify(value));
  } catch (error) {
    throw new Fault("file-unwritable", `can't write to ${place.outbox}: ${messageOf(error)}`, { cause: error });
  }
  return id;
}

/** Listed, not looked up: behind mounts a name that was once looked up in vain stays unknown. */
function isShut({ messages }: MemberFiles): boolean {
  try {
    return readdirSync(messages).includes(closedFileName);
  } catch {
    return false;
  }
}

/** Where nothing is known of the members, whoever takes up the mail knows. */
function checkAddressees(place: MemberFiles, to: readonly string[]): void {
  const members = readRoster(place)?.members ?? [];
  const nobody = to.find((one) => resolveAddress(one, members).every((id) => id === place.agent));
  if (members.length === 0 || nobody === undefined) return;
  const others = members.filter(({ id }) => id !== place.agent).map(({ key }) => key);
  throw new Fault("usage", `nobody in the team answers to "${nobody}"`, {
    hint: `there are ${others.join(", ") || "no others"}; and person`,
  });
}

/** The absolute path of what a flag or an argument names, which others must be able to find. */
export function sharedPath(path: string, place: MemberFiles, ctx: CommandContext): string {
  const absolute = absolutePath(path, { cwd: ctx.cwd, home: ctx.home });
  const found = resolveContained(absolute, [place.shared, ...(place.workspace === null ? [] : [place.workspace])]);
  if ("path" in found) return found.path;
  if (found.problem === "missing") throw new Fault("usage", `nothing is at ${absolute}`);
  throw new Fault("usage", `${absolute} is not for others to see`, {
    hint: `put it into ${place.shared}${place.workspace === null ? "" : ` or ${place.workspace}`}`,
  });
}

/** What came for this member, the oldest first. */
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

/** Null when it can't be read: any member may have written there. */
export function readRoster({ shared }: MemberFiles): RosterFile | null {
  try {
    const { members } = JSON.parse(readFileSync(join(shared, "team.json"), "utf8")) as RosterFile;
    return { members: members.map((member) => ({ ...member, key: member.key ?? member.id, role: member.role ?? "" })) };
  } catch {
    return null;
  }
}
