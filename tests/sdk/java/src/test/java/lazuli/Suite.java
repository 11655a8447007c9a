package lazuli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.exception.HttpResponseException;
import com.azure.core.http.HttpClient;
import com.azure.core.http.HttpHeaderName;
import com.azure.storage.common.policy.RequestRetryOptions;
import com.azure.storage.common.policy.RetryPolicyType;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.function.Executable;

/** What the suites share: the account, names that no other run uses, errors. Retries are off, so that a 5xx fails at once. */
final class Suite {
    static final String KEY = setting("LAZULI_KEY", "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==");
    static final String ACCOUNT = setting("LAZULI_ACCOUNT", "devstoreaccount1");
    static final RequestRetryOptions NO_RETRIES = new RequestRetryOptions(RetryPolicyType.FIXED, 1, 60, null, null, null);

    private Suite() {}

    static String setting(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null ? otherwise : value.replaceAll("/$", "");
    }

    /** The account's address for a service. Tests of a service that the server does not offer are skipped. */
    static String endpoint(String service, int port) {
        String address = setting("LAZULI_" + service.toUpperCase() + "_ENDPOINT", "http://127.0.0.1:" + port + "/devstoreaccount1");
        Assumptions.assumeFalse(address.isEmpty(), "the server does not offer this service");
        return address;
    }

    static String connectionString(String service, int port) {
        return "DefaultEndpointsProtocol=http;AccountName=" + ACCOUNT + ";AccountKey=" + KEY + ";" + service + "Endpoint=" + endpoint(service, port) + ";";
    }

    /** Skips a test of the second part of the blob service if LAZULI_SKIP names `part2`. */
    static void later() {
        Assumptions.assumeFalse(setting("LAZULI_SKIP", "").contains("part2"), "left out by LAZULI_SKIP");
    }

    static String unique(String prefix) {
        return prefix + UUID.randomUUID().toString().replace("-", "");
    }

    static OffsetDateTime soon() {
        return OffsetDateTime.now().plusHours(1);
    }

    /** The call must be rejected with this status and code. */
    static void rejected(int status, String code, Executable call) {
        HttpResponseException error = assertThrows(HttpResponseException.class, call);
        assertEquals(status, error.getResponse().getStatusCode(), error.toString());
        assertEquals(code, error.getResponse().getHeaders().getValue(com.azure.core.http.HttpHeaderName.fromString("x-ms-error-code")), error.toString());
    }

    static void denied(Executable call) {
        assertEquals(403, assertThrows(HttpResponseException.class, call).getResponse().getStatusCode());
    }

    static void eventually(BooleanSupplier condition) throws InterruptedException {
        for (long end = System.nanoTime() + 60_000_000_000L; !condition.getAsBoolean(); Thread.sleep(50)) {
            assertTrue(System.nanoTime() < end, "it did not happen in time");
        }
    }

    /** The HTTP client of clients that send LAZULI_TOKEN in place of a signature: the SDK's own way needs https. Without a token, the test is skipped. */
    static HttpClient withBearer() {
        String token = setting("LAZULI_TOKEN", "");
        Assumptions.assumeFalse(token.isEmpty(), "LAZULI_TOKEN is not set");
        HttpClient client = HttpClient.createDefault();
        return request -> client.send(request.setHeader(HttpHeaderName.AUTHORIZATION, "Bearer " + token));
    }

    /** Public methods of the classes, by `form` of their names, that none of the compiled tests call. A call on a subclass counts for an inherited method. */
    static List<String> uncalled(UnaryOperator<String> form, Class<?>... types) throws Exception {
        List<String> arguments = new ArrayList<>(List.of("-v", "-p"));
        try (Stream<Path> files = Files.walk(Path.of(Suite.class.getProtectionDomain().getCodeSource().getLocation().toURI()))) {
            files.map(Path::toString).filter(name -> name.endsWith(".class")).forEach(arguments::add);
        }
        StringWriter listing = new StringWriter();
        assertEquals(0, ToolProvider.findFirst("javap").orElseThrow().run(new PrintWriter(listing), new PrintWriter(listing), arguments.toArray(String[]::new)));
        Matcher calls = Pattern.compile("= Methodref .* // (com/azure/(?:data|storage)/\\S+)\\.(\\w+):").matcher(listing.toString());
        Map<String, Set<Class<?>>> called = new HashMap<>();
        while (calls.find()) {
            called.computeIfAbsent(form.apply(calls.group(2)), name -> new HashSet<>()).add(Class.forName(calls.group(1).replace('/', '.')));
        }
        return Arrays.stream(types).flatMap(type -> Arrays.stream(type.getMethods())
                .filter(method -> method.getDeclaringClass() != Object.class && !method.isBridge())
                .filter(method -> called.getOrDefault(form.apply(method.getName()), Set.of()).stream().noneMatch(method.getDeclaringClass()::isAssignableFrom))
                .map(method -> method.getDeclaringClass().getSimpleName() + "." + method.getName()))
            .distinct().sorted().toList();
    }
}
