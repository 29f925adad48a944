// The log of a team's mail: `traffic.jsonl` has a line for each entry, `given.jsonl` for each delivery to a model. A message counts as
// sent once its line in traffic.jsonl is written. Both files survive a crash.
import { join } from "node:path";
import { openJsonLog } from "../../../kit/files/json-log.ts";
import { parseMailValue, parseSentMessage } from "../../../protocol/team/read-mail.ts";
import { messageRecord, reportRecord, type SentMessage } from "../../../protocol/team/mail.ts";
import { headOf, messagesOf, type MailEntry } from "./classify-mail.ts";

export type MailLog = {
  find: (id: string) => MailEntry | null;
  add: (entry: MailEntry) => void;
  /** The time of the latest entry. */
  latestAt: () => number;
  /** Number of the member's files that were refused because they exceeded its quota. */
  countOverQuota: (member: string) => number;
  /** Messages that were delivered to the member's inbox, but not yet given to its model. */
  pendingMessages: (member: string) => SentMessage[];
  /** Records that the member's model got these messages. */
  markGiven: (member: string, ids: readonly string[]) => void;
  close: () => void;
};

export function openMailLog(directory: string, team: string, warn: (message: string) => void): MailLog {
  const traffic = openJsonLog(join(directory, "traffic.jsonl"), warn);
  const given = openJsonLog(join(directory, "given.jsonl"), warn);
  const entries = new Map<string, MailEntry>();
  const waiting = new Map<string, Map<string, SentMessage>>();
  const overQuota = new Map<string, number>();
  let latestAt = 0;

  const addToMaps = (entry: MailEntry): void => {
    const { id, at } = headOf(entry);
    entries.set(id, entry);
    latestAt = Math.max(latestAt, at);
    if (entry.event === "message_refused" && entry.refused.count !== undefined)
      overQuota.set(entry.refused.from, (overQuota.get(entry.refused.from) ?? 0) + entry.refused.count);
    for (const message of messagesOf(entry))
      for (const member of message.delivered) waiting.set(member, (waiting.get(member) ?? new Map()).set(message.id, message));
  };
  const removeWaiting = (member: string, ids: readonly string[]): void => ids.forEach((id) => waiting.get(member)?.delete(id));

  for (const line of traffic.lines) {
    const entry = parseEntry(line as Record<string, unknown>);
    if (entry === null) warn(`traffic.jsonl has a line that is not mail: ${JSON.stringify(line).slice(0, 100)}`);
    else addToMaps(entry);
  }
  for (const line of given.lines as { agent: string; ids: string[] }[]) removeWaiting(line.agent, line.ids);

  return {
    find: (id) => entries.get(id) ?? null,
    add: (entry) => {
      traffic.append(entryRecord(entry, team));
      addToMaps(entry);
    },
    latestAt: () => latestAt,
    countOverQuota: (member) => overQuota.get(member) ?? 0,
    /** Messages that were delivered to the member's inbox, but not yet given to its model. */
    pendingMessages: (member) => [...(waiting.get(member)?.values() ?? [])],
    /** Records that the member's model got these messages. */
    markGiven: (member, ids) => {
      const newIds = ids.filter((id) => waiting.get(member)?.has(id) === true);
      if (newIds.length === 0) return;
      given.append({ agent: member, ids: newIds });
      removeWaiting(member, newIds);
    },
    close: () => {
      traffic.close();
      given.close();
    },
  };
}

function entryRecord(entry: MailEntry, team: string): object {
  const { event } = entry;
  if (event === "message_refused") {
    const { at, ...rest } = entry.refused;
    return { event, ...rest, timestamp: new Date(at).toISOString() };
  }
  const warningsField = entry.warnings.length === 0 ? {} : { warnings: entry.warnings };
  if (event === "message_sent") return { event, ...messageRecord(entry.sent, team), ...warningsField };
  const { id, from, at, report } = entry;
  return { event, id, from, timestamp: new Date(at).toISOString(), report: reportRecord(report), ...warningsField };
}

/** Null for a line that skein did not write. */
function parseEntry(line: Record<string, unknown>): MailEntry | null {
  const { event, id, from, file, reason } = line as Record<string, string>;
  const at = Date.parse(String(line["timestamp"]));
  const warnings = (line["warnings"] ?? []) as string[];
  if (id === undefined || from === undefined || Number.isNaN(at)) return null;
  if (event === "message_refused") {
    const countField = typeof line["count"] === "number" ? { count: line["count"] } : {};
    return { event, refused: { id, from, at, file: file ?? "", reason: reason ?? "", ...countField } };
  }
  if (event === "message_sent") {
    const sent = parseSentMessage(line);
    return sent === null ? null : { event, sent, warnings };
  }
  const mail = event === "agent_reported" ? parseMailValue(line["report"]) : null;
  return mail?.type === "report" ? { event: "agent_reported", id, from, at, report: mail.report, warnings } : null;
}
