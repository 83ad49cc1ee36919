/** A place in a bucket that documents come from. */
export interface BucketSource {
  readonly bucket: string;
  /** What the names of the objects begin with; "" for all. */
  readonly prefix: string;
}

const PLACE = /^([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/s;

/** Reads "bucket/prefix"; null if it is not in this form. */
export function readBucketSource(text: string): BucketSource | null {
  const [, bucket, prefix = ""] = PLACE.exec(text) ?? [];
  return bucket === undefined ? null : { bucket, prefix };
}

/** The address of an object, as resources store it. */
export function objectAddress(bucket: string, key: string): string {
  return `s3://${bucket}/${key}`;
}

/** The name of the object at a bucket address. */
export function keyOfAddress(bucket: string, address: string): string {
  return address.slice(objectAddress(bucket, "").length);
}
