// The walls as a profile for macOS's sandbox-exec. Later rules win there too, so the order of the paths is ours.
import type { Rule, Walls } from "./walls.ts";

/** What every program needs to start and to talk to the system's own services. */
const opening = [
  "(version 1)",
  "(deny default)",
  "(allow process-exec process-fork signal (target same-sandbox))",
  "(allow process-info* (target same-sandbox))",
  "(allow sysctl-read mach-lookup ipc-posix-sem user-preference-read)",
  '(allow file-ioctl (subpath "/dev"))',
  "(allow pseudo-tty)",
  "(allow file-read* file-test-existence)",
  '(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (regex #"^/dev/ttys[0-9]+$"))',
];

export function seatbeltProfile(walls: Walls): string {
  const rules = walls.rules.filter((rule) => rule.path !== "/").map(pathRule);
  return [...opening, ...rules, ...networkRules(walls)].join("\n");
}

/** There are no copies here: what would be scratch can be read, and written nowhere. */
function pathRule({ path, access }: Rule): string {
  const place = `(subpath ${quoted(path)})`;
  switch (access) {
    case "none":
      return `(deny file-read* file-write* ${place})`;
    case "write":
      return `(allow file-read* file-write* ${place})`;
    default:
      return `(allow file-read* ${place})\n(deny file-write* ${place})`;
  }
}

function networkRules(walls: Walls): string[] {
  const unix = walls.unixSockets ? ["(allow network* (local unix-socket) (remote unix-socket))"] : [];
  if (walls.net === "on")
    return ["(allow network-outbound network-inbound network-bind (remote ip) (local ip))", "(allow system-socket)", ...unix];
  return ["(deny network*)", '(allow network* (local ip "localhost:*") (remote ip "localhost:*"))', ...unix];
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
