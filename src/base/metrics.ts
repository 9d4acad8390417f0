/**
 * The appliance's metrics: every counter, gauge and histogram that `/metrics` shows, on prom-client.
 *
 * Promises bounded memory: the values of labels come from closed lists of the code, never from mail or requests; only the
 * one series of `postrider_node_info` has names of the config. What a store that several nodes share says is the same on
 * each, and its help says so: it must not be summed over nodes. Counting costs well under a microsecond; text is made when somebody asks. Adding
 * a metric is one field here and a row in docs/metrics.md. Throws only for a label that is not declared here.
 */
import type { CounterConfiguration, GaugeConfiguration, HistogramConfiguration } from 'prom-client';
import Counter from 'prom-client/lib/counter.js';
import Gauge from 'prom-client/lib/gauge.js';
import Histogram from 'prom-client/lib/histogram.js';
import Registry from 'prom-client/lib/registry.js';

/** Upper bounds in seconds for what takes from a millisecond to two hours. */
const SECONDS_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200,
];
/** With a bound at 20 ms: 99 of 100 claims should take less. */
const CLAIM_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5];
const COUNT_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** A metric's own settings; the registry is this object's. */
type Settings<C> = Omit<C, 'registers'>;

/** Every metric of one appliance. Made in `appliance/`; several in one process do not share numbers. */
export class Metrics {
  readonly #registry = new Registry();

  readonly accepted = this.#counter({
    name: 'postrider_messages_accepted_total',
    help: 'Messages accepted, by status of the response.',
    labelNames: ['status'],
  });
  readonly attempts = this.#counter({
    name: 'postrider_attempts_total',
    help: 'Delivery attempts that ended, by outcome, class and kind of destination.',
    labelNames: ['outcome', 'class', 'destination'],
  });
  readonly attemptSeconds = this.#histogram({
    name: 'postrider_attempt_seconds',
    help: 'Duration of one delivery attempt, by outcome.',
    labelNames: ['outcome'],
    buckets: SECONDS_BUCKETS,
  });
  readonly deliverySeconds = this.#histogram({
    name: 'postrider_delivery_seconds',
    help: 'Time from acceptance to delivery.',
    buckets: SECONDS_BUCKETS,
  });
  readonly requestSeconds = this.#histogram({
    name: 'postrider_http_request_seconds',
    help: 'Duration of API requests, by method and class of status.',
    labelNames: ['method', 'status'],
    buckets: SECONDS_BUCKETS,
  });
  readonly callSeconds = this.#histogram({
    name: 'postrider_webhook_call_seconds',
    help: 'Duration of webhook calls, by result.',
    labelNames: ['result'],
    buckets: SECONDS_BUCKETS,
  });
  readonly commitSeconds = this.#histogram({
    name: 'postrider_commit_seconds',
    help: 'Duration of one durable commit of the writer.',
    buckets: SECONDS_BUCKETS,
  });
  readonly commitWrites = this.#histogram({
    name: 'postrider_commit_writes',
    help: 'Writes that shared one commit.',
    buckets: COUNT_BUCKETS,
  });
  readonly claimSeconds = this.#histogram({
    name: 'postrider_claim_seconds',
    help: 'Duration of a claim of waiting mail in the store, by step.',
    labelNames: ['step'],
    buckets: CLAIM_BUCKETS,
  });
  readonly loopLagSeconds = this.#histogram({
    name: 'postrider_event_loop_lag_seconds',
    help: 'How late a timer of the main thread runs.',
    buckets: SECONDS_BUCKETS,
  });
  readonly loopBlocked = this.#counter({
    name: 'postrider_event_loop_blocked_total',
    help: 'Ticks of the event loop that kept everything else waiting for more than 50 ms.',
  });
  readonly queueRecipients = this.#gauge({
    name: 'postrider_queue_recipients',
    help: 'Recipients that wait, by kind of destination. The same on every node.',
    labelNames: ['destination'],
  });
  readonly queueOldestSeconds = this.#gauge({
    name: 'postrider_queue_oldest_seconds',
    help: 'Age of the oldest recipient that waits, by kind of destination. The same on every node.',
    labelNames: ['destination'],
  });
  readonly webhookBacklog = this.#gauge({
    name: 'postrider_webhook_backlog',
    help: 'Webhook calls that are still open. The same on every node.',
  });
  readonly findings = this.#gauge({
    name: 'postrider_doctor_findings',
    help: 'Findings of the last host check, by level.',
    labelNames: ['level'],
  });
  readonly isHalted = this.#gauge({
    name: 'postrider_halted',
    help: '1 while sending is halted by the operator. The same on every node.',
  });
  readonly isDiskLow = this.#gauge({
    name: 'postrider_disk_low',
    help: '1 while new sends are refused because the disk is nearly full.',
  });
  readonly nodes = this.#gauge({
    name: 'postrider_nodes',
    help: 'Nodes that take part, by state. The same on every node.',
    labelNames: ['state'],
  });
  readonly node = this.#gauge({
    name: 'postrider_node_info',
    help: 'Always 1; the labels name this node, the service and the version.',
    labelNames: ['node', 'service', 'version'],
  });
  readonly databaseConnections = this.#gauge({
    name: 'postrider_database_connections',
    help: 'Connections to the PostgreSQL database, by whether a statement is under way.',
    labelNames: ['state'],
  });
  readonly databaseWaiting = this.#gauge({
    name: 'postrider_database_waiting',
    help: 'Statements and transactions that wait for a connection.',
  });
  readonly isDatabaseAway = this.#gauge({
    name: 'postrider_database_away',
    help: '1 while no primary of the PostgreSQL database answers.',
  });
  readonly databaseCommitAge = this.#gauge({
    name: 'postrider_database_last_commit_seconds',
    help: 'Time since the last commit to the PostgreSQL database.',
  });
  readonly signingThreadRestarts = this.#counter({
    name: 'postrider_signing_thread_restarts_total',
    help: 'Signing threads started again after one has died.',
  });
  readonly build = this.#gauge({
    name: 'postrider_build_info',
    help: 'Always 1; the labels name the version, the commit and the runtime.',
    labelNames: ['version', 'commit', 'bun'],
  });
  readonly memory = this.#gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory.',
  });
  readonly descriptors = this.#gauge({
    name: 'process_open_fds',
    help: 'Open file descriptors.',
  });
  readonly startedAt = this.#gauge({
    name: 'process_start_time_seconds',
    help: 'Start of the process, in seconds since the epoch.',
  });

  /** Everything in the Prometheus text format, version 0.0.4. */
  async render(): Promise<string> {
    return await this.#registry.metrics();
  }

  #counter<T extends string = never>(settings: Settings<CounterConfiguration<T>>): Counter<T> {
    return new Counter({ ...settings, registers: [this.#registry] });
  }

  #gauge<T extends string = never>(settings: Settings<GaugeConfiguration<T>>): Gauge<T> {
    return new Gauge({ ...settings, registers: [this.#registry] });
  }

  #histogram<T extends string = never>(
    settings: Settings<HistogramConfiguration<T>>,
  ): Histogram<T> {
    return new Histogram({ ...settings, registers: [this.#registry] });
  }
}
