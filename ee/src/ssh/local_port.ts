import { connect, createServer } from "node:net";

/** Ports of this machine's loopback interface. */
export interface LocalPorts {
  /**
   * Find a port that nobody holds now.
   *
   * @throws {Error} When the system has none.
   */
  free(): Promise<number>;
  /** Tell whether somebody listens at a port; the connection is closed at once. */
  answers(port: number): Promise<boolean>;
}

/** Make the real ones. */
export function createLocalPorts(): LocalPorts {
  return { free, answers };
}

function free(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => {
        if (typeof address === "object" && address !== null) {
          resolve(address.port);
        } else reject(new Error("The system gave no free port"));
      });
    });
  });
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    const settle = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    socket.once("connect", () => settle(true));
    socket.on("error", () => settle(false));
  });
}
