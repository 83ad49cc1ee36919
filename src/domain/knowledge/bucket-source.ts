/** A location in a bucket from which documents are read. */
export interface BucketSource {
  readonly bucket: string;
  /** The prefix of the objects' names; "" for all. */
  readonly prefix: string;
}

const PLACE = /^([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/s;

/** Reads "bucket/prefix"; null if it is not in this form. */
export function readBucketSource(text: string): BucketSource | null {
  const [, bucket, prefix = ""] = PLACE.exec(text) ?? [];
  return bucket === undefined ? null : { bucket, prefix };
}

/** What is wrong with the text of a source, and the expected form; null if `readBucketSource` can read it. */
export function bucketSourceProblem(text: string): string | null {
  if (readBucketSource(text) !== null) return null;
  const given = JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
  const address = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(text);
  const rest = address?.[2] ?? "";
  if (address !== null && readBucketSource(rest) !== null)
    return `${given} is a URL. Remove ${JSON.stringify(`${address[1]}://`)}: ${JSON.stringify(rest)}`;
  if (address !== null) return `${given} is a URL. Write bucket/prefix, for example "handbook/2026/"`;
  const [bucket = ""] = text.split("/", 1);
  if (bucket === "")
    return `${given} begins with "/". Write the name of the bucket first, for example "handbook/2026/"`;
  const name = JSON.stringify(bucket.slice(0, 80));
  if (bucket !== bucket.toLowerCase()) return `${name} is not a valid bucket name: it has capital letters`;
  if (bucket.length < 3 || bucket.length > 63)
    return `${name} is not a valid bucket name: it has ${bucket.length} characters, and 3 to 63 are allowed`;
  return `${name} is not a valid bucket name: use letters a to z, digits, "-" and ".", with a letter or digit at both ends`;
}

/** The address of an object, as stored with its document. */
export function objectAddress(bucket: string, key: string): string {
  return `s3://${bucket}/${key}`;
}

/** The name of the object at a bucket address. */
export function keyOfAddress(bucket: string, address: string): string {
  return address.slice(objectAddress(bucket, "").length);
}
