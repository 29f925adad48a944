// The types and limits that all transports share. A transport carries whole frames in both directions.

export type Connection = {
  send: (frame: string) => void;
  /** Resolves when the buffer has space again; null if it has space now. Never rejects. */
  whenWritable: () => Promise<void> | null;
  close: (why: string) => void;
};

/** Handles the frames of a connection. No call follows after `closed`. */
export type FrameHandler = {
  receive: (frame: string) => void;
  closed: (why: string) => void;
};

/** Called once for each connection, before its first frame. */
export type AcceptConnection = (connection: Connection) => FrameHandler;

export type Listener = { close: () => void };

export const connectionLimits = {
  /** Longest frame in each direction. */
  frameBytes: 16 << 20,
  /** A connection with more unread bytes than this is closed. */
  unsentBytes: 64 << 20,
  /** Open connections of one listener. */
  connections: 512,
} as const;
