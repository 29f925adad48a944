// What the mail of a team remembers: `traffic.jsonl` has a line for all that was taken up, `given.jsonl` says what of it
// its readers were given. A line of the first is the moment from which a message is sent; both outlive any crash.
import { join } from "node:path";
import { openJsonLog } from "../../../kit/files/json-log.ts";
import { parseMailValue, parseSentMessage } from "../../../protocol/team/read-mail.ts";
import { messageRecord, reportRecord, type SentMessage } from "../../../protocol/team/mail.ts";
import { deliveryNotice, type MailEntry } from "./classify-mail.ts";

export type MailLog = {
  find: (id: string) => MailEntry | null;
  add: (entry: MailEntry) => void;
  /** When the latest was taken up. */
  latest: () => number;
  /** How many files of its owner were told as refused all at once. */
  countTold: (owner: string) => number;
  waitingFor: (member: string) => SentMessage[];
  markGiven: (member: string, ids: readonly string[]) => void;
  close: () => void;
};

export function openMailLog(directory: string, team: string, warn: (message: string) => void): MailLog {
  const traffic = openJsonLog(join(directory, "traffic.jsonl"), warn);
  const given = openJsonLog(join(directory, "given.jsonl"), warn);
  const entries = new Map<string, MailEntry>();
  const waiting = new Map<string, Map<string, SentMessage>>();
  const told = new Map<string, number>();
  let latest = 0;

  const remember = (entry: MailEntry): void => {
    entries.set(idOf(entry), entry);
    latest = Math.max(latest, timeOf(entry));
    if (entry.event === "message_refused" && entry.refused.count !== undefined)
      told.set(entry.refused.from, (told.get(entry.refused.from) ?? 0) + entry.refused.count);
    for (const sent of [entry.event === "message_sent" ? entry.sent : null, deliveryNotice(entry)]) {
      for (const member of sent?.delivered ?? []) waiting.set(member, (waiting.get(member) ?? new Map()).set(sent!.id, sent!));
    }
  };
  const forget = (member: string, ids: readonly string[]): string[] => ids.filter((id) => waiting.get(member)?.delete(id) === true);

  for (const line of traffic.lines) {
    const entry = entryOf(line as Record<string, unknown>);
    if (entry === null) warn(`traffic.jsonl has a line that is no mail: ${JSON.stringify(line).slice(0, 100)}`);
    else remember(entry);
  }
  for (const line of given.lines as { agent: string; ids: string[] }[]) forget(line.agent, line.ids);

  return {
    find: (id) => entries.get(id) ?? null,
    add: (entry) => {
      traffic.append(recordOf(entry, team));
      remember(entry);
    },
    latest: () => latest,
    countTold: (owner) => told.get(owner) ?? 0,
    waitingFor: (member) => [...(waiting.get(member)?.values() ?? [])],
    markGiven: (member, ids) => {
      const waits = waiting.get(member);
      const first = ids.filter((id) => waits?.has(id) === true);
      if (first.length === 0) return;
      given.append({ agent: member, ids: first });
      forget(member, first);
    },
    close: () => {
      traffic.close();
      given.close();
    },
  };
}

function idOf(entry: MailEntry): string {
  if (entry.event === "message_sent") return entry.sent.id;
  return entry.event === "message_refused" ? entry.refused.id : entry.id;
}

function timeOf(entry: MailEntry): number {
  if (entry.event === "message_sent") return entry.sent.sentAt;
  return entry.event === "message_refused" ? entry.refused.at : entry.at;
}

function recordOf(entry: MailEntry, team: string): object {
  const { event } = entry;
  if (event === "message_refused") {
    const { at, ...rest } = entry.refused;
    return { event, ...rest, timestamp: new Date(at).toISOString() };
  }
  const warned = entry.warnings.length === 0 ? {} : { warnings: entry.warnings };
  if (event === "message_sent") return { event, ...messageRecord(entry.sent, team), ...warned };
  const { id, from, at, report } = entry;
  return { event, id, from, timestamp: new Date(at).toISOString(), report: reportRecord(report), ...warned };
}

/** The same back; null for a line that we did not write. */
function entryOf(line: Record<string, unknown>): MailEntry | null {
  const { event, id, from, file, reason } = line as Record<string, string>;
  const at = Date.parse(String(line["timestamp"]));
  const warnings = (line["warnings"] ?? []) as string[];
  if (id === undefined || from === undefined || Number.isNaN(at)) return null;
  if (event === "message_refused") {
    const count = typeof line["count"] === "number" ? { count: line["count"] } : {};
    return { event, refused: { id, from, at, file: file ?? "", reason: reason ?? "", ...count } };
  }
  if (event === "message_sent") {
    const sent = parseSentMessage(line);
    return sent === null ? null : { event, sent, warnings };
  }
  const read = event === "agent_reported" ? parseMailValue(line["report"]) : null;
  return read?.type === "report" ? { event: "agent_reported", id, from, at, report: read.report, warnings } : null;
}
