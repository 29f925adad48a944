// Names of hosts that tools may reach: `host`, `host:port` or `*.domain`, and addresses. Pure: it resolves nothing.
// It is loaded with the configuration, so it does not import node:net, which takes milliseconds.

/** `name` is in lower case. Without a port, the ports of https and http are meant. */
export type HostPattern = { name: string; port: number | null };

const defaultPorts = [443, 80];
const label = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?";
const hostName = new RegExp(`^(?:\\*\\.)?${label}(?:\\.${label})*$`);

/** Null if the text is no host. An IPv6 address has brackets: `[::1]:8080`. */
export function parseHostPattern(text: string): HostPattern | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:/@[\]]+))(?::(\d{1,5}))?$/i.exec(text.trim());
  const name = normalHost(match?.[1] ?? match?.[2] ?? "");
  const port = match?.[3] === undefined ? null : Number(match[3]);
  if (port !== null && (port < 1 || port > 65_535)) return null;
  if (match?.[1] !== undefined) return name.includes(":") && isAddress(name) ? { name, port } : null;
  // A wildcard needs a domain below the top level, else it names almost every host.
  const isName = name.startsWith("*.") ? hostName.test(name) && name.split(".").length >= 3 : hostName.test(name);
  // Other programs read `127.1`, `2130706433` and `0x7f000001` as addresses.
  const isNumber = !isAddress(name) && /^(?:\d|0x)[\da-fx.]*$/.test(name) && !/[g-wyz-]/.test(name);
  // A word without a dot is rather a mistyped `on` or `off`.
  const isWord = !name.includes(".") && name !== "localhost" && port === null;
  return isName && !isNumber && !isWord ? { name, port } : null;
}

/** Leaves out texts that are no hosts. */
export function parseHostPatterns(texts: readonly string[]): HostPattern[] {
  return texts.flatMap((text) => parseHostPattern(text) ?? []);
}

export function allowsHost(patterns: readonly HostPattern[], host: string, port: number): boolean {
  return patterns.some((pattern) => matchesName(pattern.name, host) && portsOf(pattern).includes(port));
}

/** Whether every host of `narrow` is also one of `wide`. */
export function coversHosts(wide: readonly string[], narrow: readonly string[]): boolean {
  const patterns = parseHostPatterns(wide);
  return narrow.every((text) => {
    const pattern = parseHostPattern(text);
    return pattern !== null && portsOf(pattern).every((port) => allowsHost(patterns, pattern.name, port));
  });
}

/** In lower case, without the dot that ends a complete name. */
export function normalHost(host: string): string {
  return host.toLowerCase().replace(/(?<=[^.])\.$/, "");
}

/** An IPv4 address of four numbers, or an IPv6 address without brackets. */
export function isAddress(host: string): boolean {
  if (host.includes(":")) return URL.canParse(`http://[${host}]/`);
  return /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/.test(host);
}

function matchesName(pattern: string, host: string): boolean {
  if (pattern === host) return true;
  return pattern.startsWith("*.") && !isAddress(host) && host.endsWith(pattern.slice(1)) && host.length > pattern.length - 1;
}

function portsOf({ port }: HostPattern): readonly number[] {
  return port === null ? defaultPorts : [port];
}
