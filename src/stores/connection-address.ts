import { readFile } from "node:fs/promises";
import { Client, type ClientConfig } from "pg";
import { parse, toClientConfig } from "pg-connection-string";

/** The URL parameter that names a password file. */
const PASSWORD_FILE = "password_file";

/**
 * The driver's connection settings. A password file is read for each connection: a token of a cloud's IAM is valid for
 * minutes, and its renewal overwrites the file.
 */
export function connectionTo(url: string): ClientConfig {
  const file = URL.canParse(url) ? new URL(url).searchParams.get(PASSWORD_FILE) : null;
  if (file === null) return { connectionString: url };
  const { [PASSWORD_FILE]: _, ...address } = parse(url);
  return { ...toClientConfig(address), password: async () => (await readFile(file, "utf8")).trim() };
}

/**
 * A client for pools. If the password cannot be read, the driver only reports that and leaves the connection open. The
 * server would wait a minute for the password (authentication_timeout), and every `drop database` with it.
 */
export class PooledClient extends Client {
  override connect(): Promise<Client>;
  override connect(callback: (error: Error | null, client: Client) => void): void;
  override connect(callback?: (error: Error | null, client: Client) => void): Promise<Client> | void {
    const connected = super.connect().catch((error: Error) => {
      void this.end();
      throw error;
    });
    if (callback === undefined) return connected;
    connected.then(
      () => callback(null, this),
      (error: Error) => callback(error, this),
    );
  }
}
