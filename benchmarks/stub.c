// A DynamoDB that gives prepared answers: for measuring clients, with nothing on the other side that takes time.
//
//     stub FOLDER
//
// Each file of FOLDER is a whole HTTP response: `Operation` answers every call of the operation, `Operation@text` those
// whose body contains the JSON string "text". Listens on a free port of 127.0.0.1, prints it, and ends with its standard
// input. One thread, epoll, HTTP/1.1 with keep-alive. The operation `Seen` answers how many calls there were since it was
// last asked for, and the last one's body.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct answer {
    char operation[64];
    char text[128];  // in quotes; empty for the answer of every other call
    char *bytes;
    size_t length;
};

struct connection {
    int socket;
    char *input;
    size_t used, capacity;
    bool continued, blocked;
    const char *output;  // what is left to send of an answer
    size_t left;
};

static struct answer *answers;
static size_t answer_count;
static int poller;
static size_t calls_seen;
static char *last_body;
static size_t last_length;
static char *seen_answer;

static const char BAD_REQUEST[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}";
static const char CONTINUE[] = "HTTP/1.1 100 Continue\r\n\r\n";
static char listening, ending;  // their addresses mark these two among the poller's events

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void *grown(void *memory, size_t size) {
    memory = realloc(memory, size);
    if (memory == NULL) fail("realloc");
    return memory;
}

static void load(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) fail(path);
    answers = grown(answers, (answer_count + 1) * sizeof *answers);
    struct answer *answer = &answers[answer_count++];
    memset(answer, 0, sizeof *answer);
    answer->length = (size_t)ftell(file);
    answer->bytes = grown(NULL, answer->length + 1);
    rewind(file);
    if (fread(answer->bytes, 1, answer->length, file) != answer->length) fail(path);
    fclose(file);
    const char *at = strchr(name, '@');
    snprintf(answer->operation, sizeof answer->operation, "%.*s", at ? (int)(at - name) : (int)strlen(name), name);
    if (at != NULL) snprintf(answer->text, sizeof answer->text, "\"%s\"", at + 1);
}

static void load_all(const char *folder) {
    DIR *directory = opendir(folder);
    if (directory == NULL) fail(folder);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.') load(folder, entry->d_name);
    closedir(directory);
}

static const struct answer *find(const char *operation, size_t length, const char *body, size_t body_length) {
    const struct answer *other = NULL;
    for (size_t i = 0; i < answer_count; i++) {
        const struct answer *answer = &answers[i];
        if (strlen(answer->operation) != length || memcmp(answer->operation, operation, length) != 0) continue;
        if (answer->text[0] == '\0') other = answer;
        else if (memmem(body, body_length, answer->text, strlen(answer->text)) != NULL) return answer;
    }
    return other;
}

static void answer_seen(struct connection *connection) {
    seen_answer = grown(seen_answer, last_length + 256);
    char start[64];
    int start_length = snprintf(start, sizeof start, "{\"calls\":%zu,\"body\":", calls_seen);
    const char *body = last_length ? last_body : "null";
    size_t body_length = last_length ? last_length : 4;
    int head = snprintf(seen_answer, 200, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
                        (size_t)start_length + body_length + 1, start);
    memcpy(seen_answer + head, body, body_length);
    seen_answer[(size_t)head + body_length] = '}';
    connection->output = seen_answer;
    connection->left = (size_t)head + body_length + 1;
    calls_seen = 0;
    last_length = 0;
}

static void remember(const char *body, size_t length) {
    calls_seen++;
    last_body = grown(last_body, length + 1);
    memcpy(last_body, body, length);
    last_length = length;
}

static void watch(struct connection *connection, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    epoll_ctl(poller, EPOLL_CTL_MOD, connection->socket, &event);
}

// False if the connection is broken.
static bool send_output(struct connection *connection) {
    while (connection->left > 0) {
        ssize_t sent = send(connection->socket, connection->output, connection->left, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno != EAGAIN) return false;
            if (!connection->blocked) watch(connection, EPOLLIN | EPOLLOUT);
            connection->blocked = true;
            return true;
        }
        connection->output += sent;
        connection->left -= (size_t)sent;
    }
    if (connection->blocked) watch(connection, EPOLLIN);
    connection->blocked = false;
    return true;
}

// Answers the complete requests of the input, one after the other. False if the connection is broken.
static bool handle(struct connection *connection) {
    while (connection->used > 0 && connection->left == 0) {
        char *end = memmem(connection->input, connection->used, "\r\n\r\n", 4);
        if (end == NULL) return true;
        size_t head = (size_t)(end - connection->input) + 4, length = 0, operation_length = 0;
        const char *operation = NULL;
        bool expects = false;
        for (char *line = memchr(connection->input, '\n', head); line != NULL && line < end;
             line = memchr(line, '\n', (size_t)(end + 2 - line))) {
            line++;
            if (strncasecmp(line, "content-length:", 15) == 0) length = strtoul(line + 15, NULL, 10);
            else if (strncasecmp(line, "expect:", 7) == 0) expects = true;
            else if (strncasecmp(line, "x-amz-target:", 13) == 0) {
                operation = memchr(line, '.', (size_t)(end - line));
                if (operation == NULL) continue;
                operation++;
                while (operation[operation_length] != '\r') operation_length++;
            }
        }
        if (connection->used < head + length) {
            if (expects && !connection->continued) {
                connection->continued = true;
                if (send(connection->socket, CONTINUE, sizeof CONTINUE - 1, MSG_NOSIGNAL) < 0) return false;
            }
            return true;
        }
        const char *body = connection->input + head;
        if (operation_length == 4 && memcmp(operation, "Seen", 4) == 0) {
            answer_seen(connection);
        } else {
            const struct answer *answer = operation ? find(operation, operation_length, body, length) : NULL;
            connection->output = answer ? answer->bytes : BAD_REQUEST;
            connection->left = answer ? answer->length : sizeof BAD_REQUEST - 1;
            remember(body, length);
        }
        connection->continued = false;
        connection->used -= head + length;
        memmove(connection->input, connection->input + head + length, connection->used);
        if (!send_output(connection)) return false;
    }
    return true;
}

// False if the connection is at its end, or broken.
static bool receive(struct connection *connection) {
    for (;;) {
        if (connection->used == connection->capacity)
            connection->input = grown(connection->input, connection->capacity *= 2);
        size_t space = connection->capacity - connection->used;
        ssize_t received = recv(connection->socket, connection->input + connection->used, space, 0);
        if (received == 0 || (received < 0 && errno != EAGAIN)) return false;
        if (received < 0) return true;
        connection->used += (size_t)received;
        if ((size_t)received < space) return true;
    }
}

static void accept_all(int listener) {
    int one = 1, buffer = 4 << 20, accepted;
    while ((accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        setsockopt(accepted, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
        struct connection *connection = grown(NULL, sizeof *connection);
        *connection = (struct connection){.socket = accepted, .capacity = 65536};
        connection->input = grown(NULL, connection->capacity);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        epoll_ctl(poller, EPOLL_CTL_ADD, accepted, &event);
    }
}

static int listen_somewhere(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0) fail("bind");
    if (listen(listener, 1024) != 0) fail("listen");
    if (getsockname(listener, (struct sockaddr *)&address, &size) != 0) fail("getsockname");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

/* While clients are busy it does not sleep, where it has a processor to itself: who writes to a process that sleeps on
   this machine pays for waking it, and for a server elsewhere nobody does. */
static const long long AWAKE = 5 * 1000 * 1000;
static long long last_event;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static bool may_sleep(void) {
    return sysconf(_SC_NPROCESSORS_ONLN) < 2 || now() - last_event > AWAKE;
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: stub FOLDER\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    load_all(arguments[1]);
    poller = epoll_create1(0);
    int listener = listen_somewhere();
    struct epoll_event on_listener = {.events = EPOLLIN, .data.ptr = &listening};
    struct epoll_event on_end = {.events = EPOLLIN, .data.ptr = &ending};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, listener, &on_listener) != 0) fail("epoll_ctl");
    if (epoll_ctl(poller, EPOLL_CTL_ADD, STDIN_FILENO, &on_end) != 0) fail("standard input must be a pipe");
    struct epoll_event events[256];
    for (;;) {
        int ready = epoll_wait(poller, events, 256, may_sleep() ? -1 : 0);
        if (ready > 0) last_event = now();
        for (int i = 0; i < ready; i++) {
            if (events[i].data.ptr == &ending) return 0;
            if (events[i].data.ptr == &listening) {
                accept_all(listener);
                continue;
            }
            struct connection *connection = events[i].data.ptr;
            bool open = true;
            if (events[i].events & EPOLLOUT) open = send_output(connection);
            if (open && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) open = receive(connection);
            if (open) open = handle(connection);
            if (!open) {
                close(connection->socket);
                free(connection->input);
                free(connection);
            }
        }
    }
}
