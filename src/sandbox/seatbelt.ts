// The walls as a profile for macOS's sandbox-exec. The last rule that matches wins there, so the order of the paths is
// ours: short ones first. Pure text; it is tested as text, and tried out by the probe where it is used.
import { dirname, sep } from "node:path";
import type { PathRule, SandboxRules } from "./rules.ts";
import { sessionTagPaths } from "./enclosing-session.ts";

/** The system's own services that programs ask for users, time zones, logs and certificates; none that keeps secrets. */
const services = [
  "bsd.dirhelper cfprefsd.agent cfprefsd.daemon logd PowerManagement.control system.logger system.notification_center",
  "system.opendirectoryd.libinfo system.opendirectoryd.membership trustd.agent",
].flatMap((line) => line.split(" "));
const servicesOfTheNetwork = ["networkd", "ocspd", "SystemConfiguration.configd", "SystemConfiguration.DNSConfiguration"];

/** What every program needs to start. */
const opening = [
  "(version 1)",
  "(deny default)",
  "(allow process-exec)",
  "(allow process-fork)",
  "(allow signal (target same-sandbox))",
  "(allow process-info* (target same-sandbox))",
  "(allow sysctl-read)",
  "(allow user-preference-read)",
  "(allow ipc-posix-sem)",
  '(allow iokit-open (iokit-registry-entry-class "RootDomainUserClient"))',
  lookup(services),
  "(allow file-read* file-test-existence file-map-executable)",
  '(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))',
  "(allow pseudo-tty)",
  '(allow file-read* file-write* file-ioctl (literal "/dev/ptmx") (literal "/dev/tty") (regex #"^/dev/ttys[0-9]+$"))',
];

export function seatbeltProfile(walls: SandboxRules): string {
  const rules = walls.rules.filter((rule) => rule.path !== sep);
  return [...opening, ...rules.map(pathRule), ...ways(rules), ...fixedNames(rules), ...markRule(walls), ...networkRules(walls)].join("\n");
}

/** A place that need not exist: outside nothing is there, inside it can't be looked at. */
function markRule({ sessionTag: mark }: SandboxRules): string[] {
  return mark === undefined || mark.nesting ? [] : [`(deny file-read* file-test-existence (literal ${quoted(sessionTagPaths.denied)}))`];
}

/** There are no copies here: what would be scratch can be read, and written nowhere. */
function pathRule({ path, access }: PathRule): string {
  const place = `(subpath ${quoted(path)})`;
  switch (access) {
    case "none":
      return `(deny file-read* file-write* file-test-existence file-map-executable ${place})`;
    case "write":
      return `(allow file-read* file-write* file-test-existence file-map-executable ${place})`;
    default:
      return `(allow file-read* file-test-existence file-map-executable ${place})\n(deny file-write* ${place})`;
  }
}

/** What is shown inside a hidden directory is found only by asking for each directory on the way. */
function ways(rules: PathRule[]): string[] {
  const hidden = rules.filter((rule) => rule.access === "none").map((rule) => rule.path);
  const shown = rules.filter((rule) => rule.access !== "none").flatMap((rule) => above(rule.path));
  const found = shown.filter((path) => hidden.some((one) => isWithin(path, one)));
  return [...new Set(found)].map((path) => `(allow file-read-metadata file-test-existence (literal ${quoted(path)}))`);
}

/** Rules go by name: a directory above a guarded place must not be renamed, or the place would get another. */
function fixedNames(rules: PathRule[]): string[] {
  const writable = rules.filter((rule) => rule.access === "write").map((rule) => rule.path);
  const guarded = rules.filter((rule) => rule.access !== "write").map((rule) => rule.path);
  const found = [...guarded.flatMap(above), ...writable].filter((path) => writable.some((one) => isWithin(path, one)));
  return [...new Set(found)].map((path) => `(deny file-write-unlink (require-all (literal ${quoted(path)}) (vnode-type DIRECTORY)))`);
}

/** Only "localhost" and "*" can be said of a host. Binding and listening go by the local address, connecting by the remote. */
function networkRules(rules: SandboxRules): string[] {
  const host = rules.net === "on" ? "*:*" : "localhost:*";
  return [
    `(allow network-bind (local ip "${host}"))`,
    `(allow network-inbound (local ip "${host}"))`,
    `(allow network-outbound (remote ip "${host}"))`,
    ...(rules.net === "on"
      ? [lookup(servicesOfTheNetwork), "(allow system-socket (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))"]
      : []),
    ...(rules.net === "on" ? ['(allow network-outbound (remote unix-socket (path-literal "/private/var/run/mDNSResponder")))'] : []),
    ...(rules.unixSockets ? unixRules(rules.rules) : []),
  ];
}

/** Sockets that lie in a hidden place stay out of reach. */
function unixRules(rules: PathRule[]): string[] {
  const hidden = rules.filter((rule) => rule.access === "none");
  return [
    "(allow system-socket (socket-domain AF_UNIX))",
    "(allow network-bind (local unix-socket))",
    "(allow network-outbound (remote unix-socket))",
    ...hidden.map(({ path }) => `(deny network-outbound (remote unix-socket (subpath ${quoted(path)})))`),
  ];
}

function lookup(names: string[]): string {
  return `(allow mach-lookup ${names.map((name) => `(global-name "com.apple.${name}")`).join(" ")})`;
}

function above(path: string): string[] {
  const parent = dirname(path);
  return parent === sep ? [] : [...above(parent), parent];
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder + sep);
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
