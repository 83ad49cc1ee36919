/** Reads a message in protobuf's wire format by field numbers. */
export class ProtoReader {
  readonly #fields = new Map<number, Array<Buffer | bigint>>();

  constructor(bytes: Buffer) {
    let at = 0;
    const varint = (): bigint => {
      let value = 0n;
      for (let shift = 0n; ; shift += 7n) {
        const byte = bytes[at++];
        if (byte === undefined) throw new Error("the message breaks off");
        value |= BigInt(byte & 127) << shift;
        if (byte < 128) return value;
      }
    };
    const take = (length: number): Buffer => {
      if (at + length > bytes.length) throw new Error("the message breaks off");
      at += length;
      return bytes.subarray(at - length, at);
    };
    while (at < bytes.length) {
      const tag = Number(varint());
      const values = this.#fields.get(tag >> 3) ?? [];
      this.#fields.set(tag >> 3, values);
      if ((tag & 7) === 0) values.push(varint());
      else if ((tag & 7) === 1) values.push(take(8));
      else if ((tag & 7) === 2) values.push(take(Number(varint())));
      else if ((tag & 7) === 5) values.push(take(4));
      else throw new Error(`wire type ${tag & 7} is unknown`);
    }
  }

  has(field: number): boolean {
    return this.#fields.has(field);
  }

  messages(field: number): ProtoReader[] {
    return (this.#fields.get(field) ?? []).map((value) => new ProtoReader(value as Buffer));
  }

  text(field: number): string {
    return this.#bytes(field).toString("utf8");
  }

  hex(field: number): string {
    return this.#bytes(field).toString("hex");
  }

  number(field: number): number {
    return Number(this.#fields.get(field)?.[0] ?? 0n);
  }

  nanos(field: number): number {
    return Number(this.#bytes(field).readBigUInt64LE());
  }

  double(field: number): number {
    return this.#bytes(field).readDoubleLE();
  }

  #bytes(field: number): Buffer {
    return (this.#fields.get(field)?.[0] as Buffer | undefined) ?? Buffer.alloc(0);
  }
}
