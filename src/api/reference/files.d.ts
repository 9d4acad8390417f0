/** Packed files that the build embeds: the import is the path of the file. */
declare module '*.js.gz' {
  const path: string;
  export default path;
}
