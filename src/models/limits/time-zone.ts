// Dates in a named time zone, by the runtime's own data. An unknown name counts as the zone of this machine.

/** `month` is 1 to 12. A `day` after the last one of the month belongs to the next month. */
export type DateParts = { year: number; month: number; day: number; hour: number; minute: number };

/** Hours from UTC of abbreviations, which the runtime does not know. */
const abbreviations: Record<string, number> = {
  UTC: 0,
  GMT: 0,
  EST: -5,
  EDT: -4,
  CST: -6,
  CDT: -5,
  MST: -7,
  MDT: -6,
  PST: -8,
  PDT: -7,
  BST: 1,
  CET: 1,
  CEST: 2,
  EET: 2,
  EEST: 3,
  JST: 9,
  AEST: 10,
  AEDT: 11,
};

/** The time in milliseconds at which a clock in the zone shows the date. Null is the zone of this machine. */
export function zonedTime({ year, month, day, hour, minute }: DateParts, zone: string | null): number {
  const asUtc = Date.UTC(year, month - 1, day, hour, minute);
  const offset = fixedOffset(zone);
  if (offset !== null) return asUtc - offset;
  const format = formatFor(zone);
  if (format === null) return new Date(year, month - 1, day, hour, minute).getTime();
  // The offset may change between the first guess and the result, on the day of a change of the clock.
  const first = asUtc - offsetAt(asUtc, format);
  return asUtc - offsetAt(first, format);
}

/** The date and time that a clock in the zone shows. */
export function localParts(time: number, zone: string | null): DateParts {
  const offset = fixedOffset(zone);
  const format = offset === null ? formatFor(zone) : null;
  if (offset === null && format === null) {
    const local = new Date(time);
    return {
      year: local.getFullYear(),
      month: local.getMonth() + 1,
      day: local.getDate(),
      hour: local.getHours(),
      minute: local.getMinutes(),
    };
  }
  const shifted = new Date(time + (offset ?? offsetAt(time, format!)));
  return {
    year: shifted.getUTCFullYear(),
    month: shifted.getUTCMonth() + 1,
    day: shifted.getUTCDate(),
    hour: shifted.getUTCHours(),
    minute: shifted.getUTCMinutes(),
  };
}

/** Milliseconds from UTC of "PST" or "GMT+2"; null for other names. */
function fixedOffset(zone: string | null): number | null {
  const [, name, sign, hours, minutes] = /^([A-Z]{3,4})(?: ?([+-])(\d{1,2})(?::?(\d\d))?)?$/.exec(zone ?? "") ?? [];
  const base = name === undefined ? undefined : abbreviations[name];
  if (base === undefined) return null;
  const shift = hours === undefined ? 0 : (Number(hours) * 60 + Number(minutes ?? 0)) * (sign === "-" ? -1 : 1);
  return (base * 60 + shift) * 60_000;
}

function formatFor(zone: string | null): Intl.DateTimeFormat | null {
  if (zone === null || !zone.includes("/")) return null;
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", ...numericFields });
  } catch {
    return null;
  }
}

const numericFields = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" } as const;

function offsetAt(time: number, format: Intl.DateTimeFormat): number {
  const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
  const shown = Date.UTC(parts["year"]!, parts["month"]! - 1, parts["day"], parts["hour"], parts["minute"], parts["second"]);
  return shown - Math.floor(time / 1000) * 1000;
}
