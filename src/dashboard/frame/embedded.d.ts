/** Style sheets, pictures and scripts for browsers are embedded as text (`with { type: 'text' }`). */
declare module '*.css' {
  const text: string;
  export default text;
}
declare module '*.svg' {
  const text: string;
  export default text;
}
declare module '*/enhance.js' {
  const text: string;
  export default text;
}
declare module 'idiomorph/dist/idiomorph.min.js' {
  const text: string;
  export default text;
}
