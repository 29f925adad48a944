// How much mail a member may leave in one turn. Readers pay for every word of it, and one that floods must not keep the
// others from being heard. The person has no such bound.
import { mailLimits, personAddress } from "../../../protocol/team/mail.ts";

export type MailQuota = {
  /** A turn of it begins, and its share is whole. */
  begin: (member: string) => void;
  /** One file of it was taken up. */
  take: (member: string, bytes: number) => void;
  isUsedUp: (member: string) => boolean;
};

export function createMailQuota(): MailQuota {
  const taken = new Map<string, { files: number; bytes: number }>();
  const of = (member: string) => taken.get(member) ?? { files: 0, bytes: 0 };
  return {
    begin: (member) => void taken.delete(member),
    take: (member, bytes) => {
      const so = of(member);
      taken.set(member, { files: so.files + 1, bytes: so.bytes + bytes });
    },
    isUsedUp: (member) => {
      const { files, bytes } = of(member);
      return member !== personAddress && (files >= mailLimits.turnFiles || bytes >= mailLimits.turnBytes);
    },
  };
}
