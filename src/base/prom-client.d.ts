/**
 * The parts of prom-client that the appliance loads one by one: its index would bring the cluster, push gateway and
 * tracing parts too (2.9 MB of the executable and 9 ms of each start, against 0.4 MB and 0.3 ms). It has no exports map.
 */
declare module 'prom-client/lib/registry.js' {
  export { Registry as default } from 'prom-client';
}
declare module 'prom-client/lib/counter.js' {
  export { Counter as default } from 'prom-client';
}
declare module 'prom-client/lib/gauge.js' {
  export { Gauge as default } from 'prom-client';
}
declare module 'prom-client/lib/histogram.js' {
  export { Histogram as default } from 'prom-client';
}
