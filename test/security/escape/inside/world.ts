// The paths and processes that the program inside shall try to reach. Data only, in one JSON file.

export type World = {
  /** Part of every secret. An attempt that returns it has read one. */
  token: string;
  /** False in the runs that show that the attempts can succeed. */
  isWalled: boolean;
  /** Its own; the current directory. */
  project: string;
  home: string;
  /** skein's own directories. */
  own: { config: string; data: string; state: string };
  /** Outside of the project: one directory for each attempt, with `victim` and `dir` in it. */
  outside: string;
  /** A process outside. It works in ~/.ssh, has a key open as 7 and victims as 6 and 8, and tells of signals. */
  victim: { pid: number };
  ports: { tcp: number; udp: number; dns: number };
  /** Listening sockets by where they are, and one without a place. */
  sockets: { stream: Record<string, string>; datagram: string; abstract: string };
  /** The key of memory that everybody may share. */
  memory: number;
  /** Another terminal, in which the user starts skein; null if none could be created. */
  terminal: string | null;
  /** A program with the setuid bit of root, or null. */
  setuid: string | null;
  bun: string;
};

/**
 * How an attempt is judged. `change`: its directory outside is not as it was. `read`: what it returns holds the token.
 * `reach`: something outside has heard its name. `call`: it did not throw. `work`: the same, and it should not.
 */
export type Kind = "change" | "read" | "reach" | "call" | "work";

export type Attempt = {
  /** Also the name of its directory outside. */
  name: string;
  kind: Kind;
  /** Throws where it is stopped; what it returns is shown. `mine` is its directory outside. */
  run: (world: World, mine: string) => unknown;
};

export type AttemptReport = { name: string; isDone: boolean; text: string };
