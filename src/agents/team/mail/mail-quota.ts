// Limits the mail of a member in one turn. Readers pay for every word, and one member must not block the others. The user
// (`person`) has no limit.
import { mailLimits, personAddress } from "../../../protocol/team/mail.ts";

export type MailQuota = {
  /** Resets the quota for a new turn. */
  startTurn: (member: string) => void;
  /** Counts one file. */
  count: (member: string, bytes: number) => void;
  isUsedUp: (member: string) => boolean;
};

export function createMailQuota(): MailQuota {
  const counts = new Map<string, { files: number; bytes: number }>();
  const countOf = (member: string) => counts.get(member) ?? { files: 0, bytes: 0 };
  return {
    startTurn: (member) => void counts.delete(member),
    count: (member, bytes) => {
      const previous = countOf(member);
      counts.set(member, { files: previous.files + 1, bytes: previous.bytes + bytes });
    },
    isUsedUp: (member) => {
      const { files, bytes } = countOf(member);
      return member !== personAddress && (files >= mailLimits.turnFiles || bytes >= mailLimits.turnBytes);
    },
  };
}
