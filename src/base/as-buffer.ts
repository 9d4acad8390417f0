/** The same bytes as a `Buffer`: a view of them, no copy. For bytes from SQLite, other threads and libraries. */
export function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
