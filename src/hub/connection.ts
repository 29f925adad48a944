// The types and limits that all transports share. A transport carries whole frames in both directions.

export type Connection = {
  /** A returned promise resolves when the buffer has space again. It never rejects. */
  send: (frame: string) => Promise<void> | void;
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
