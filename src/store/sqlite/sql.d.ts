/** SQL files are embedded as text (`with { type: 'text' }`). */
declare module '*.sql' {
  const text: string;
  export default text;
}
