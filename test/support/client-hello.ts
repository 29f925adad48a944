// Builds the first message of a TLS connection, as a client of a vendor sends it.

export type HelloOptions = {
  /** Adds the extension that hides the real name. */
  isEncrypted?: boolean;
  /** Bytes in each TLS record. */
  recordSize?: number;
};

/** `name` null leaves the server's name out. */
export function clientHello(name: string | null, { isEncrypted = false, recordSize = 16_384 }: HelloOptions = {}): Buffer {
  const names = name === null ? [] : [extension(0, sized(2, Buffer.concat([Buffer.from([0]), sized(2, Buffer.from(name))])))];
  const hidden = isEncrypted ? [extension(0xfe0d, Buffer.alloc(32))] : [];
  const extensions = Buffer.concat([extension(0x0a0a, Buffer.alloc(0)), ...names, ...hidden, extension(43, Buffer.from([2, 3, 4]))]);
  const hello = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7),
    sized(1, Buffer.alloc(32)),
    sized(2, Buffer.from([0x13, 1])),
    sized(1, Buffer.from([0])),
    sized(2, extensions),
  ]);
  const message = Buffer.concat([Buffer.from([1]), sized(3, hello)]);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += recordSize)
    records.push(Buffer.concat([Buffer.from([22, 3, 1]), sized(2, message.subarray(at, at + recordSize))]));
  return Buffer.concat(records);
}

function extension(type: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from([type >> 8, type & 255]), sized(2, body)]);
}

function sized(width: number, body: Buffer): Buffer {
  const length = Buffer.alloc(width);
  length.writeUIntBE(body.length, 0, width);
  return Buffer.concat([length, body]);
}
