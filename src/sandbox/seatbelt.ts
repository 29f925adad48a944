// Renders the sandbox rules as a profile for sandbox-exec on macOS. There the last matching rule wins, so short paths
// come first. Pure text. The probe tests it on the machine where it is used.
import { dirname, sep } from "node:path";
import type { PathRule, SandboxRules } from "./rules.ts";
import { sessionTagPaths } from "./enclosing-session.ts";

/** System services for users, time zones, logs and certificates. None of them stores secrets. */
const services = [
  "bsd.dirhelper cfprefsd.agent cfprefsd.daemon logd PowerManagement.control system.logger system.notification_center",
  "system.opendirectoryd.libinfo system.opendirectoryd.membership trustd.agent",
].flatMap((line) => line.split(" "));
const networkServices = ["networkd", "ocspd", "SystemConfiguration.configd", "SystemConfiguration.DNSConfiguration"];

/** The rules that every program needs to start. */
const baseRules = [
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

export function seatbeltProfile(sandbox: SandboxRules): string {
  const rules = sandbox.rules.filter((rule) => rule.path !== sep);
  return [
    ...baseRules,
    ...rules.map(pathRule),
    ...parentRules(rules),
    ...renameRules(rules),
    ...sessionTagRule(sandbox),
    ...networkRules(sandbox),
  ].join("\n");
}

/** Inside the sandbox this path can't be read, which shows that there is one. The file need not exist. */
function sessionTagRule({ sessionTag }: SandboxRules): string[] {
  return sessionTag === undefined || sessionTag.nesting
    ? []
    : [`(deny file-read* file-test-existence (literal ${quote(sessionTagPaths.denied)}))`];
}

/** There are no copies on macOS, so scratch paths are read-only. */
function pathRule({ path, access }: PathRule): string {
  const target = `(subpath ${quote(path)})`;
  switch (access) {
    case "none":
      return `(deny file-read* file-write* file-test-existence file-map-executable ${target})`;
    case "write":
      return `(allow file-read* file-write* file-test-existence file-map-executable ${target})`;
    default:
      return `(allow file-read* file-test-existence file-map-executable ${target})\n(deny file-write* ${target})`;
  }
}

/** A visible path inside a hidden directory can be reached only if its parents can be examined. */
function parentRules(rules: PathRule[]): string[] {
  const hidden = rules.filter((rule) => rule.access === "none").map((rule) => rule.path);
  const parents = rules.filter((rule) => rule.access !== "none").flatMap((rule) => parentsOf(rule.path));
  const hiddenParents = parents.filter((path) => hidden.some((directory) => isWithin(path, directory)));
  return [...new Set(hiddenParents)].map((path) => `(allow file-read-metadata file-test-existence (literal ${quote(path)}))`);
}

/** Rules go by name, so a directory above a protected path must not be renamed. */
function renameRules(rules: PathRule[]): string[] {
  const writable = rules.filter((rule) => rule.access === "write").map((rule) => rule.path);
  const protectedPaths = rules.filter((rule) => rule.access !== "write").map((rule) => rule.path);
  const fixed = [...protectedPaths.flatMap(parentsOf), ...writable].filter((path) => writable.some((root) => isWithin(path, root)));
  return [...new Set(fixed)].map((path) => `(deny file-write-unlink (require-all (literal ${quote(path)}) (vnode-type DIRECTORY)))`);
}

/** A host can only be "localhost" or "*". Binding and listening use the local address, connecting the remote one. */
function networkRules(rules: SandboxRules): string[] {
  const host = rules.net === "on" ? "*:*" : "localhost:*";
  return [
    `(allow network-bind (local ip "${host}"))`,
    `(allow network-inbound (local ip "${host}"))`,
    `(allow network-outbound (remote ip "${host}"))`,
    ...(rules.net === "on"
      ? [lookup(networkServices), "(allow system-socket (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))"]
      : []),
    ...(rules.net === "on" ? ['(allow network-outbound (remote unix-socket (path-literal "/private/var/run/mDNSResponder")))'] : []),
    ...(rules.unixSockets ? unixRules(rules.rules) : []),
  ];
}

/** Sockets below a hidden path stay unreachable. */
function unixRules(rules: PathRule[]): string[] {
  const hidden = rules.filter((rule) => rule.access === "none");
  return [
    "(allow system-socket (socket-domain AF_UNIX))",
    "(allow network-bind (local unix-socket))",
    "(allow network-outbound (remote unix-socket))",
    ...hidden.map(({ path }) => `(deny network-outbound (remote unix-socket (subpath ${quote(path)})))`),
  ];
}

function lookup(names: string[]): string {
  return `(allow mach-lookup ${names.map((name) => `(global-name "com.apple.${name}")`).join(" ")})`;
}

function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === sep ? [] : [...parentsOf(parent), parent];
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory + sep);
}

function quote(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
