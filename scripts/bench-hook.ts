/**
 * The counting receiver of webhook calls: HTTPS on every loopback address, 200 to every POST, as fast as it can.
 *
 * A process of its own, so that its time is not the server's. Told its port and the files of its key and certificate;
 * reports by IPC.
 */

export interface HookReceipt {
  count: number;
  /** Epoch milliseconds of the first call since the count was 0, and of the last. */
  firstAt: number;
  lastAt: number;
}

const [, , port = '', keyFile = '', certFile = ''] = process.argv;
const receipt: HookReceipt = { count: 0, firstAt: 0, lastAt: 0 };

Bun.serve({
  hostname: '0.0.0.0',
  port: Number(port),
  tls: { key: Bun.file(keyFile), cert: Bun.file(certFile) },
  async fetch(request) {
    await request.arrayBuffer();
    receipt.lastAt = Date.now();
    if (receipt.count === 0) receipt.firstAt = receipt.lastAt;
    receipt.count += 1;
    return new Response(null);
  },
});

const REPORT_MS = 20;
let reported = -1;
setInterval(() => {
  if (receipt.count === reported) return;
  reported = receipt.count;
  process.send?.(receipt);
}, REPORT_MS);
process.send?.(receipt);
// Each message begins a count of its own.
process.on('message', () => Object.assign(receipt, { count: 0, firstAt: 0, lastAt: 0 }));
// The benchmark is gone, however it ended.
process.on('disconnect', () => process.exit(0));
