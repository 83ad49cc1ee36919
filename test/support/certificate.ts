import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/**
 * A certificate for a name, signed by `authority` or else self-signed. It is created during the test, because a private
 * key in the repository would trigger secret scanners.
 */
export function makeCertificate(name: string, authority?: Certificate): Certificate {
  const folder = mkdtempSync(join(tmpdir(), "millrace-tls-"));
  const file = (part: string): string => join(folder, `${part}.pem`);
  const subject = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=DNS:${name}`];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
  const signer = authority ? ["-CA", file("ca"), "-CAkey", file("ca-key"), "-addext", "basicConstraints=CA:FALSE"] : [];
  if (authority) {
    writeFileSync(file("ca"), authority.cert);
    writeFileSync(file("ca-key"), authority.key);
  }
  const made = ["-keyout", file("key"), "-out", file("cert")];
  execFileSync("openssl", ["req", "-x509", ...curve, ...made, ...subject, ...signer], { stdio: "ignore" });
  const certificate = { key: readFileSync(file("key"), "utf8"), cert: readFileSync(file("cert"), "utf8") };
  rmSync(folder, { recursive: true });
  return certificate;
}
