/** Style sheets are embedded as text (`with { type: 'text' }`). */
declare module '*.css' {
  const text: string;
  export default text;
}
