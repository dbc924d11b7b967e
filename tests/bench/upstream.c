/* The benchmark's provider: an OpenAI-shaped HTTP/1.1 server whose own cost is a few microseconds a request.
 *
 * One thread, epoll, keep-alive. The model named in the request body selects what is played:
 *
 *   unary          one chat completion of 2 KB
 *   paced-N-MS     an event stream: N events, the first at once, then one every MS milliseconds
 *   flood-N-K      an event stream: N events as fast as the socket takes them, K events in each write
 *
 * GET /stats answers what was served: benchmarks count successes here, because a load generator may take an error
 * for an answer. Every answer lives in constant memory, so nothing is copied or allocated while serving.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 4096, REQUEST_BYTES = 65536, MAX_PER_WRITE = 64, EVENTS_AT_ONCE = 256, FAIR_WRITES = 4 };

struct text {
    char *bytes;
    size_t length;
};

enum phase { READING, SENDING_LAST, STREAMING, TAIL };

struct connection {
    int open;
    enum phase phase;
    char request[REQUEST_BYTES];
    size_t have;
    struct text piece; /* what is being written now */
    size_t sent;
    long writes_left; /* batches of the stream still to come */
    long per_write;
    long interval_ms; /* 0: flooded */
    long due_ms;      /* when the next batch of a paced stream leaves; 0: not waiting */
    int wants_write;
};

static struct connection *connections[MAX_CONNECTIONS];
static struct text unary_answer, stream_head, stream_tail, not_found, batches[MAX_PER_WRITE + 1];
static unsigned long long requests, completed, events_sent;
static long open_streams;
static int poller;

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct text text_of(const char *bytes, size_t length) {
    struct text made = {malloc(length + 1), length};
    memcpy(made.bytes, bytes, length);
    made.bytes[length] = 0;
    return made;
}

#define CHUNK_HEAD                                                                                       \
    "data: {\"id\":\"chatcmpl-bench-0123456789\",\"object\":\"chat.completion.chunk\",\"created\":1700000000," \
    "\"model\":\"bench-model\",\"choices\":["
#define DELTA CHUNK_HEAD "{\"index\":0,\"delta\":{\"content\":\" token\"},\"finish_reason\":null}],\"usage\":null}\n\n"
#define FINISH CHUNK_HEAD "{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}\n\n"
#define USAGE CHUNK_HEAD "],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":99,\"total_tokens\":108}}\n\n"

static void build_batches(void) {
    static char buffer[MAX_PER_WRITE * sizeof(DELTA) + 64];
    for (int count = 1; count <= MAX_PER_WRITE; count++) {
        int used = sprintf(buffer, "%zx\r\n", count * (sizeof(DELTA) - 1));
        for (int i = 0; i < count; i++) {
            memcpy(buffer + used, DELTA, sizeof(DELTA) - 1);
            used += sizeof(DELTA) - 1;
        }
        memcpy(buffer + used, "\r\n", 2);
        batches[count] = text_of(buffer, used + 2);
    }
}

static void build_answers(void) {
    static char content[1700], body[4096], answer[8192];
    memset(content, 'x', sizeof content - 1);
    int size = sprintf(body,
                       "{\"id\":\"chatcmpl-bench-0123456789\",\"object\":\"chat.completion\",\"created\":1700000000,"
                       "\"model\":\"bench-model\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
                       "\"content\":\"%s\",\"refusal\":null},\"logprobs\":null,\"finish_reason\":\"stop\"}],"
                       "\"usage\":{\"prompt_tokens\":400,\"completion_tokens\":300,\"total_tokens\":700}}",
                       content);
    int used = sprintf(answer, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s",
                       size, body);
    unary_answer = text_of(answer, used);
    const char *head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    stream_head = text_of(head, strlen(head));
    const char *tail = FINISH USAGE "data: [DONE]\n\n";
    used = sprintf(answer, "%zx\r\n%s\r\n0\r\n\r\n", strlen(tail), tail);
    stream_tail = text_of(answer, used);
    const char *missing = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
    not_found = text_of(missing, strlen(missing));
    build_batches();
}

static void watch(int fd, struct connection *c, int want_write) {
    if (c->wants_write == want_write) return;
    struct epoll_event event = {.events = EPOLLIN | (want_write ? EPOLLOUT : 0), .data.fd = fd};
    epoll_ctl(poller, EPOLL_CTL_MOD, fd, &event);
    c->wants_write = want_write;
}

static void drop(int fd) {
    struct connection *c = connections[fd];
    if (c->phase == STREAMING || c->phase == TAIL) open_streams--;
    c->open = 0;
    close(fd);
}

/* Sets the next piece of the running answer. Returns 0 where nothing is to be sent now. */
static int next_piece(struct connection *c) {
    c->sent = 0;
    if (c->phase == SENDING_LAST || c->phase == TAIL) {
        completed += c->piece.bytes != not_found.bytes;
        open_streams -= c->phase == TAIL;
        c->phase = READING;
        return 0;
    }
    if (c->interval_ms && c->due_ms > now_ms()) return 0;
    if (c->writes_left == 0) {
        c->phase = TAIL;
        c->piece = stream_tail;
        return 1;
    }
    c->writes_left--;
    c->piece = batches[c->per_write];
    if (c->interval_ms) c->due_ms = (c->due_ms ? c->due_ms : now_ms()) + c->interval_ms;
    return 1;
}

static void push(int fd, struct connection *c) {
    for (int turn = 0; turn < FAIR_WRITES; turn++) {
        ssize_t wrote = send(fd, c->piece.bytes + c->sent, c->piece.length - c->sent, MSG_NOSIGNAL);
        if (wrote < 0) {
            if (errno != EAGAIN) drop(fd);
            else watch(fd, c, 1);
            return;
        }
        c->sent += wrote;
        if (c->sent < c->piece.length) continue;
        if (c->phase == STREAMING && c->piece.bytes != stream_head.bytes) events_sent += c->per_write;
        if (!next_piece(c)) {
            watch(fd, c, 0);
            return;
        }
    }
    watch(fd, c, 1); /* a flooded stream shares the thread with the others */
}

static void start_stream(struct connection *c, long count, long per_write, long interval_ms) {
    if (per_write < 1) per_write = 1;
    if (per_write > MAX_PER_WRITE) per_write = MAX_PER_WRITE;
    c->phase = STREAMING;
    c->per_write = per_write;
    c->writes_left = count / per_write;
    c->interval_ms = interval_ms;
    c->due_ms = 0;
    c->piece = stream_head;
    open_streams++;
}

static void send_stats(struct connection *c) {
    static char answer[512], body[256];
    int size = sprintf(body, "{\"requests\":%llu,\"completed\":%llu,\"events\":%llu,\"open_streams\":%ld}", requests,
                       completed, events_sent, open_streams);
    sprintf(answer, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s", size, body);
    c->piece = (struct text){answer, strlen(answer)};
    completed--; /* asking is not served work */
}

static void answer(struct connection *c, const char *body, size_t length) {
    long count, second;
    char model[64] = "";
    c->sent = 0;
    c->phase = SENDING_LAST;
    c->interval_ms = 0;
    if (strncmp(c->request, "GET /stats", 10) == 0) {
        send_stats(c);
        return;
    }
    requests++;
    const char *at = memmem(body, length, "\"model\"", 7);
    if (at) sscanf(at + 7, " : \"%63[^\"]", model);
    if (strcmp(model, "unary") == 0) c->piece = unary_answer;
    else if (sscanf(model, "paced-%ld-%ld", &count, &second) == 2) start_stream(c, count, 1, second);
    else if (sscanf(model, "flood-%ld-%ld", &count, &second) == 2) start_stream(c, count, second, 0);
    else c->piece = not_found;
}

/* Takes one whole request out of the buffer, if one is there. */
static int take_request(struct connection *c) {
    char *end = memmem(c->request, c->have, "\r\n\r\n", 4);
    if (!end) return 0;
    size_t head = end + 4 - c->request, body = 0;
    for (char *line = memchr(c->request, '\n', head); line && line + 1 < end; line = memchr(line + 1, '\n', end - line))
        if (strncasecmp(line + 1, "content-length:", 15) == 0) body = strtoul(line + 16, NULL, 10);
    if (c->have < head + body) return 0;
    char kept = c->request[head + body];
    c->request[head + body] = 0;
    answer(c, c->request + head, body);
    c->request[head + body] = kept;
    c->have -= head + body;
    memmove(c->request, c->request + head + body, c->have);
    return 1;
}

static void pull(int fd, struct connection *c) {
    ssize_t got = recv(fd, c->request + c->have, REQUEST_BYTES - 1 - c->have, 0);
    if (got <= 0) {
        if (got == 0 || errno != EAGAIN) drop(fd);
        return;
    }
    c->have += got;
    if (c->phase == READING && take_request(c)) push(fd, c);
}

static void accept_all(int listener) {
    int fd, yes = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (fd >= MAX_CONNECTIONS) {
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (!connections[fd]) connections[fd] = malloc(sizeof(struct connection));
        struct connection *c = connections[fd];
        c->open = 1;
        c->phase = READING;
        c->have = c->due_ms = c->wants_write = 0;
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
    }
}

/* Pushes the paced streams that are due; returns how long the poll may wait. */
static int advance_paced(void) {
    long now = now_ms(), wait = 1000;
    if (open_streams == 0) return 1000;
    for (int fd = 0; fd < MAX_CONNECTIONS; fd++) {
        struct connection *c = connections[fd];
        if (!c || !c->open || c->phase != STREAMING || !c->interval_ms || c->wants_write) continue;
        if (c->due_ms <= now && next_piece(c)) push(fd, c);
        if (c->open && c->phase == STREAMING && c->due_ms - now < wait) wait = c->due_ms - now;
    }
    return wait < 1 ? 1 : (int)wait;
}

static int listen_on_loopback(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(fd, (struct sockaddr *)&address, size) || listen(fd, 1024)) {
        perror("upstream");
        exit(1);
    }
    getsockname(fd, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    build_answers();
    poller = epoll_create1(0);
    int listener = listen_on_loopback();
    struct epoll_event ready[EVENTS_AT_ONCE], event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(poller, ready, EVENTS_AT_ONCE, advance_paced());
        for (int i = 0; i < count; i++) {
            int fd = ready[i].data.fd;
            if (fd == listener) {
                accept_all(listener);
                continue;
            }
            struct connection *c = connections[fd];
            if (c->open && ready[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) pull(fd, c);
            if (c->open && c->wants_write && ready[i].events & EPOLLOUT) push(fd, c);
        }
    }
}
