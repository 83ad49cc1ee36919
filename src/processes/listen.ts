import type { AddressInfo, Server } from "node:net";

/** The environment variables that choose a port. */
export type PortSetting = "PORT" | "MILLRACE_METRICS_PORT" | "MILLRACE_WORKER_PORT";

/** Lets a server listen, and returns its port. Throws an Error that names the setting to change. */
export async function listen(
  server: Server,
  { host, port, setting }: { readonly host: string; readonly port: number; readonly setting: PortSetting },
): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const message = `${setting}: nothing can listen at ${host}:${port} (${error.code}). ${adviceOn(error, setting)}`;
      reject(new Error(message, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

function adviceOn({ code }: NodeJS.ErrnoException, setting: PortSetting): string {
  if (code === "EADDRINUSE") return `End the process that listens there, or choose another ${setting}.`;
  if (code === "EACCES") return `Choose a ${setting} from 1024 on, or let this user listen there.`;
  return "Correct HOST: it is an address of this machine.";
}
