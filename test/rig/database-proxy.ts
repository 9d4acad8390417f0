/**
 * Stands between a node and its database, and loses a connection at the moment that a test has chosen.
 *
 * `before`: a COMMIT never reaches the server; `after`: the server has committed, and its answer never comes back.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Socket } from 'bun';

export type Loss = 'before' | 'after';

interface Side {
  other: Promise<Socket<Side>>;
  isClient: boolean;
  /** Of the client's side: what comes from the server ends here. */
  isDeaf: boolean;
  /** What the socket did not take yet. */
  left: Buffer;
}

/** Writes all of it, now or when the socket takes more. */
function pass(socket: Socket<Side>, bytes: Buffer): void {
  const all = socket.data.left.length === 0 ? bytes : Buffer.concat([socket.data.left, bytes]);
  const taken = Math.max(0, socket.write(all));
  socket.data.left = Buffer.from(all.subarray(taken));
}

const drain = (socket: Socket<Side>): void => pass(socket, Buffer.alloc(0));

export class DatabaseProxy {
  /** Every client's side that is open. */
  readonly #clients = new Set<Socket<Side>>();
  /** Nothing passes, in either direction, and nobody is told. */
  #isCut = false;
  /** Directory of the socket, for the URL. */
  readonly directory = mkdtempSync(join(tmpdir(), 'postrider-proxy-'));
  readonly #listener;
  /** What happens to the next COMMITs, and to other words. */
  readonly #planned: { word: string; loss: Loss }[] = [];
  #losses = 0;

  constructor(server: string) {
    this.#listener = Bun.listen<Side>({
      unix: join(this.directory, '.s.PGSQL.5432'),
      socket: {
        open: (client) => {
          const other = Bun.connect<Side>({
            unix: server,
            data: {
              other: Promise.resolve(client),
              isClient: false,
              isDeaf: false,
              left: Buffer.alloc(0),
            },
            socket: {
              data: (_socket, bytes) => {
                if (this.#isCut) return;
                if (client.data.isDeaf) {
                  this.#losses += 1;
                  client.terminate();
                } else pass(client, Buffer.from(bytes));
              },
              drain,
              close: () => void client.end(),
            },
          });
          client.data = { other, isClient: true, isDeaf: false, left: Buffer.alloc(0) };
          this.#clients.add(client);
        },
        data: (client, bytes) => void this.#fromClient(client, bytes),
        drain,
        close: (client) => {
          this.#clients.delete(client);
          void client.data.other.then((server) => server.end());
        },
      },
    });
  }

  /** How many connections were lost as planned. */
  get losses(): number {
    return this.#losses;
  }

  /** Loses the connections of the next COMMITs, one after the other. */
  lose(...planned: Loss[]): void {
    this.#planned.push(...planned.map((loss) => ({ word: 'COMMIT', loss })));
  }

  /** Loses the connection that says `word`, after all that was planned before. */
  loseAt(word: string, loss: Loss): void {
    this.#planned.push({ word, loss });
  }

  /** From now on nothing passes, as with a network that drops everything. */
  cut(): void {
    this.#isCut = true;
  }

  /** New connections pass again; those of before are lost. */
  restore(): void {
    this.#isCut = false;
    for (const client of this.#clients) client.terminate();
  }

  stop(): void {
    this.#listener.stop(true);
    rmSync(this.directory, { recursive: true, force: true });
  }

  async #fromClient(client: Socket<Side>, bytes: Buffer): Promise<void> {
    if (this.#isCut) return;
    const copy = Buffer.from(bytes);
    const server = await client.data.other;
    const [next] = this.#planned;
    const loss =
      next !== undefined && copy.includes(next.word) ? this.#planned.shift()?.loss : null;
    if (loss === 'before') {
      this.#losses += 1;
      server.terminate();
      client.terminate();
      return;
    }
    if (loss === 'after') client.data.isDeaf = true;
    pass(server, copy);
  }
}
