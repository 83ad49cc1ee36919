import type { AddressInfo, Server } from "node:net";

/** The environment variables that choose a port. */
export type PortSetting = "PORT" | "MILLRACE_METRICS_PORT" | "MILLRACE_WORKER_PORT";

/** Starts a server's listening, and returns its port. Throws an Error that names the setting to change. */
export async function listen(
  server: Server,
  { host, port, setting }: { readonly host: string; readonly port: number; readonly setting: PortSetting },
): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const message = `${setting}: cannot listen at ${host}:${port} (${error.code}). ${adviceOn(error, setting)}`;
      reject(new Error(message, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

function adviceOn({ code }: NodeJS.ErrnoException, setting: PortSetting): string {
  if (code === "EADDRINUSE") return `Another process uses this port: stop it, or choose another ${setting}.`;
  if (code === "EACCES") return `Choose a ${setting} from 1024, or allow this user to use low ports.`;
  return "Correct HOST: it must be an address of this machine.";
}
