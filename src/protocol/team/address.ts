// Resolves the addresses of a message: names, roles and patterns, matched against the members. No code splits an
// id, because a role or a suffix may contain any of its separators.
import { personAddress, type OutgoingMessage, type SentMessage } from "./mail.ts";
import { membersOf, type Member, type TeamRecord } from "./team.ts";

export type AddressableMember = { id: string; key: string; role: string; suffix: string | null; instance: number };

export function toAddressable({ id, plan: { key, role, suffix }, instance }: Member): AddressableMember {
  return { id, key, role, suffix, instance };
}

/** A member that has ended gets no mail. */
export function hasEnded(team: TeamRecord, id: string): boolean {
  const state = membersOf(team).find((member) => member.id === id)?.state ?? "failed";
  return state === "completed" || state === "failed";
}

/** Each member gets the message once, however many addresses match it. The sender never gets it. */
export function routeMessage(
  message: Pick<OutgoingMessage, "to">,
  from: string,
  team: { members: readonly AddressableMember[]; hasEnded: (id: string) => boolean },
): Pick<SentMessage, "delivered" | "undelivered"> {
  const delivered = new Set<string>();
  const undelivered = new Map<string, string>();
  for (const to of message.to) {
    const ids = resolveAddress(to, team.members);
    const others = ids.filter((id) => id !== from);
    const active = others.filter((id) => id === personAddress || !team.hasEnded(id));
    for (const id of active) delivered.add(id);
    if (ids.length === 0) undelivered.set(to, "no member has this address");
    else if (others.length === 0) undelivered.set(to, "only the sender has this address");
    else if (active.length === 0) undelivered.set(to, others.length === 1 ? "it has ended" : "all of them have ended");
    else for (const id of others) if (!active.includes(id)) undelivered.set(id, "it has ended");
  }
  return { delivered: [...delivered], undelivered: [...undelivered].map(([to, reason]) => ({ to, reason })) };
}

/** The ids of the members with this address, by the first matcher that matches any. */
export function resolveAddress(to: string, members: readonly AddressableMember[]): string[] {
  const word = to.trim().toLowerCase();
  if (word === personAddress) return [personAddress];
  for (const matches of matchers(word)) {
    const matching = members.filter(matches);
    if (matching.length > 0) return matching.map(({ id }) => id);
  }
  return [];
}

/** Yields the matchers from the most exact to the least exact one. */
function* matchers(word: string): Generator<(member: AddressableMember) => boolean> {
  yield ({ id }) => id.toLowerCase() === word;
  yield ({ key }) => key.toLowerCase() === word;
  if (word === "all" || word === "*") yield () => true;
  yield ({ role }) => isRole(word, role);
  if (word.startsWith("all_")) yield ({ role }) => isRole(word.slice("all_".length), role);
  yield (member) => aliasesOf(member).includes(word);
  if (word.endsWith("_*")) yield ({ role }) => role.toLowerCase() === word.slice(0, -"_*".length);
  if (word.includes("*")) {
    const pattern = new Bun.Glob(word.replaceAll(/[[\]{}()!?\\]/g, "\\$&"));
    yield (member) => [member.id, member.key, ...aliasesOf(member)].some((name) => pattern.match(name.toLowerCase()));
  }
}

/** Singular or plural: `engineer`, `engineers`, `securities`. */
function isRole(word: string, role: string): boolean {
  const name = role.toLowerCase();
  return word === name || word === `${name}s` || (name.endsWith("y") && word === `${name.slice(0, -1)}ies`);
}

/** `architect_1`, `engineer_api`, `engineer_api_2`. */
function aliasesOf({ role, suffix, instance }: AddressableMember): string[] {
  const withSuffix = suffix === null ? [] : [`${role}_${suffix}`, `${role}_${suffix}_${instance}`];
  return [`${role}_${instance}`, ...withSuffix].map((name) => name.toLowerCase());
}
