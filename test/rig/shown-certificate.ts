/** Which certificate a port of this machine shows. */
import { connect } from 'node:tls';

import { testAuthority } from './certificates.ts';

/** The common name. Rejects when the rig's CA has not signed it. */
export function shownName(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca: testAuthority().cert }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.end();
    });
    socket.once('error', reject);
  });
}
